/* collect: a configuration made of texts in a temporary folder, and what was found wrong with it. */
#ifndef COLLECT_H
#define COLLECT_H

#include "config/config.h"

struct collected {
    char key[64][200];
    char sentence[64][600];
    char file[300]; /* of the last one */
    unsigned line[64];
    bool refused[64];
    size_t count;
};

/* The folder of this test run, with a password file "password" (mode 0600) that holds "secret" and a line
 * end. */
const char *folder(void);
void remove_folder(void);
/* A path in it; lives until the next call. */
const char *path_of(const char *name);

void collect(void *context, const struct mi_finding *finding);
/* Loads text as iggy.json in the folder. */
struct mi_config *load(const char *text, struct collected *found);
/* Loads { iggy login, "routes": [ one good route ], EXTRA }. */
struct mi_config *load_with(const char *extra, struct collected *found);
/* Loads { iggy login, "routes": ROUTES }. */
struct mi_config *load_routes(const char *routes, struct collected *found);

/* Is there exactly this: key, refused or not, a sentence that holds that text? Prints all findings when not.
 */
bool has(const struct collected *found, bool refused, const char *key, const char *part);
/* Line of the first finding with that key. */
unsigned line_of_key(const struct collected *found, const char *key);

#endif
