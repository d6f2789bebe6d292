/*
 * contract_suite KIND VERSION DEVSERVER [TEST]: what the product relies on, checked against one server.
 * KIND is devserver or real, VERSION 0.8 or 0.9, DEVSERVER the path of iggy-devserver.
 */
#include <stdio.h>
#include <string.h>

#include "checks.h"
#include "support/suite.h"
#include "target.h"

enum { MAX_TESTS = 200 };

static CU_TestInfo all[MAX_TESTS + 1];

static void collect(void)
{
    CU_TestInfo *lists[] = {login_checks,   system_checks, stream_checks, topic_checks,
                            produce_checks, header_checks, poll_checks,   offset_checks,
                            user_checks,    right_checks,  restart_checks};
    unsigned n = 0;
    for (unsigned i = 0; i < sizeof lists / sizeof lists[0]; i++)
        for (CU_TestInfo *t = lists[i]; t->pName && n < MAX_TESTS; t++)
            all[n++] = *t;
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "usage: contract_suite devserver|real 0.8|0.9 DEVSERVER [TEST]\n");
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (!target_choose(argv[1], argv[2], argv[3])) {
        mi_skip("no Iggy %s at hand: set %s", argv[2],
                strcmp(argv[2], "0.8") == 0 ? "IGGY_SERVER_08" : "IGGY_SERVER");
        return 0;
    }
    if (!target_start()) {
        target_end();
        return 1;
    }
    collect();
    char suite[64];
    snprintf(suite, sizeof suite, "contract with %s %s", argv[1], argv[2]);
    int rc = mi_suite_run(suite, all, argc - 3, argv + 3);
    return target_end() ? rc : 1;
}
