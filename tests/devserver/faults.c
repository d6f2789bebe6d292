/*
 * faults: the rules.
 */
#include "faults.h"

#include <string.h>

#include "server.h"

bool dev_fault_add(struct dev_faults *faults, const struct dev_rule *rule)
{
    if (faults->rule_count == DEV_MAX_RULES)
        return false;
    faults->rules[faults->rule_count++] = *rule;
    return true;
}

void dev_fault_clear(struct dev_faults *faults)
{
    faults->rule_count = 0;
    faults->reject_text[0] = '\0';
    faults->fresh_polls = 0;
}

/* Of two rules with one action the older is used up first. */
void dev_fault_take(struct dev_faults *faults, const char *group, struct dev_plan *plan)
{
    *plan = (struct dev_plan){0};
    for (unsigned i = 0; i < faults->rule_count; i++) {
        struct dev_rule *rule = &faults->rules[i];
        if ((rule->group[0] && strcmp(rule->group, group) != 0) || plan->active[rule->action])
            continue;
        plan->active[rule->action] = true;
        plan->rules[rule->action] = *rule;
        faults->injected++;
        if (rule->left != UINT32_MAX)
            rule->left--;
    }
    unsigned kept = 0;
    for (unsigned i = 0; i < faults->rule_count; i++)
        if (faults->rules[i].left > 0)
            faults->rules[kept++] = faults->rules[i];
    faults->rule_count = kept;
    plan->no_confirmations = plan->active[DEV_NO_CONFIRMATIONS];
    plan->extra_members = plan->active[DEV_EXTRA_MEMBERS];
}

/* Any error of the table with this status and number. */
static bool known_error(struct dev_request *r, uint32_t status, uint32_t id)
{
    for (int name = 0; name < DEV_ERROR_NAMES; name++) {
        const struct dev_error *e = dev_error(name);
        if ((uint32_t)e->status == status && (uint32_t)e->id == id) {
            dev_reply_error(r, name);
            return true;
        }
    }
    return false;
}

void dev_fault_answer(struct dev_request *r, const struct dev_rule *rule)
{
    uint32_t status = rule->action == DEV_ANSWER_504 ? 504 : (uint32_t)rule->value;
    uint32_t id = rule->id ? rule->id : status == 401 ? 40 : status == 403 ? 41 : status;
    if (status == 504)
        dev_reply_error(r, strcmp(r->route->group, "offsets") == 0 ? DEV_OFFSET_TIMEOUT
                           : strcmp(r->route->group, "poll") == 0  ? DEV_READ_TIMEOUT
                                                                   : DEV_PRODUCE_TIMEOUT);
    else if (status == 413)
        dev_reply_text(r, 413, "length limit exceeded");
    else if (status == 307)
        dev_reply_empty(r, 307);
    else if (!known_error(r, status, id)) {
        mi_buf_addf(
            dev_reply_json(r, (int)status),
            "{\"id\":%u,\"code\":\"injected\",\"reason\":\"injected by the admin port\",\"field\":null}", id);
        r->retry_after = status == 503;
    }
    r->close = status == 413;
    r->location = status == 307 ? rule->text : NULL;
}

bool dev_fault_fresh(struct dev_faults *faults, struct dev_partition *partition)
{
    if (partition->fresh_polls >= faults->fresh_polls)
        return false;
    partition->fresh_polls++;
    faults->injected++;
    return true;
}

void dev_fault_count_poison(struct dev_faults *faults)
{
    faults->poisoned++;
}
