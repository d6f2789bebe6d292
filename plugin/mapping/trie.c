#include "mapping/trie.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define NONE UINT32_MAX

struct node {
    uint32_t parent;
    uint32_t least;    /* smallest rule at or below this node */
    uint32_t plus;     /* child of the wildcard level; 0: none, since the root is nobody's child */
    uint32_t literals; /* how many children with a text */
    uint32_t exact;    /* first rule that ends here */
    uint32_t rest;     /* first rule that ends here with '#' */
    struct mi_span text;
};

struct slot {
    uint32_t hash; /* of parent and text */
    uint32_t node; /* 0: free */
};

struct place {
    uint32_t node;
    uint32_t at; /* where the next level begins */
};

struct mi_trie {
    struct node *nodes;
    uint32_t node_count;
    struct slot *slots; /* open addressing; finds (parent, text) */
    uint32_t slot_mask;
    uint32_t *next; /* per rule: the next rule that ends at the same node in the same way */
    bool *flags;    /* per rule: goes on */
    struct place *stack;
};

static bool reserve(struct mi_trie *t, size_t levels, size_t deepest, size_t rules);
static void insert(struct mi_trie *t, uint32_t rule, const struct mi_filter *filter);
static uint32_t child_of(struct mi_trie *t, uint32_t parent, const struct mi_level *level);
static uint32_t hash_of(uint32_t parent, struct mi_span text);
static struct slot *slot_of(const struct mi_trie *t, uint32_t hash, uint32_t parent, struct mi_span text);
static void add_list(const struct mi_trie *t, uint32_t rule, struct mi_match *found);

void mi_match_init(struct mi_match *found)
{
    found->count = 0;
    found->bound = NONE;
}

void mi_match_add(struct mi_match *found, uint32_t rule, bool goes_on)
{
    const uint32_t room = sizeof found->rules / sizeof *found->rules;
    if (rule >= found->bound)
        return;
    uint32_t i = found->count < room ? found->count++ : room - 1;
    for (; i > 0 && found->rules[i - 1] > rule; i--)
        found->rules[i] = found->rules[i - 1];
    found->rules[i] = rule;
    if (!goes_on)
        found->count = i + 1;
    if (!goes_on || found->count == room)
        found->bound = found->rules[found->count - 1];
}

struct mi_trie *mi_trie_new(const struct mi_filter *const *filters, const bool *goes_on, size_t count)
{
    struct mi_trie *t = calloc(1, sizeof *t);
    size_t levels = 0, deepest = 0;
    for (size_t i = 0; i < count; i++) {
        size_t n = filters[i] ? filters[i]->count : 0;
        levels += n;
        deepest = n > deepest ? n : deepest;
    }
    if (!t || !reserve(t, levels, deepest, count)) {
        mi_trie_free(t);
        return NULL;
    }
    if (count)
        memcpy(t->flags, goes_on, count * sizeof *goes_on);
    t->nodes[0] = (struct node){.least = NONE, .exact = NONE, .rest = NONE};
    t->node_count = 1;
    /* Backwards, so that each list is in order and least is that of the last that came. */
    for (size_t i = count; i-- > 0;) {
        if (filters[i])
            insert(t, (uint32_t)i, filters[i]);
    }
    return t;
}

static bool reserve(struct mi_trie *t, size_t levels, size_t deepest, size_t rules)
{
    size_t slots = 16;
    while (slots < levels * 2)
        slots *= 2;
    if (slots > UINT32_MAX)
        return false;
    t->slot_mask = (uint32_t)slots - 1;
    t->nodes = calloc(levels + 1, sizeof *t->nodes);
    t->slots = calloc(slots, sizeof *t->slots);
    t->next = calloc(rules + 1, sizeof *t->next);
    t->flags = calloc(rules + 1, sizeof *t->flags);
    t->stack = calloc(deepest + 2, sizeof *t->stack);
    return t->nodes && t->slots && t->next && t->flags && t->stack;
}

static void insert(struct mi_trie *t, uint32_t rule, const struct mi_filter *filter)
{
    uint32_t at = 0;
    t->nodes[0].least = rule;
    for (uint32_t i = 0; i < filter->count; i++) {
        if (filter->levels[i].kind == MI_LEVEL_REST) {
            t->next[rule] = t->nodes[at].rest;
            t->nodes[at].rest = rule;
            return;
        }
        at = child_of(t, at, &filter->levels[i]);
        t->nodes[at].least = rule;
    }
    t->next[rule] = t->nodes[at].exact;
    t->nodes[at].exact = rule;
}

/* Finds or makes the child; there is room for every level of every filter. */
static uint32_t child_of(struct mi_trie *t, uint32_t parent, const struct mi_level *level)
{
    struct slot *slot = NULL;
    uint32_t hash = 0;
    if (level->kind == MI_LEVEL_ONE) {
        if (t->nodes[parent].plus)
            return t->nodes[parent].plus;
    } else {
        hash = hash_of(parent, level->text);
        slot = slot_of(t, hash, parent, level->text);
        if (slot->node)
            return slot->node;
    }
    uint32_t child = t->node_count++;
    t->nodes[child] = (struct node){.parent = parent, .least = NONE, .exact = NONE, .rest = NONE};
    if (slot) {
        t->nodes[child].text = level->text;
        t->nodes[parent].literals++;
        *slot = (struct slot){hash, child};
    } else {
        t->nodes[parent].plus = child;
    }
    return child;
}

static uint32_t hash_of(uint32_t parent, struct mi_span text)
{
    return (uint32_t)XXH3_64bits_withSeed(text.data, text.len, parent);
}

static struct slot *slot_of(const struct mi_trie *t, uint32_t hash, uint32_t parent, struct mi_span text)
{
    for (uint32_t i = hash & t->slot_mask;; i = (i + 1) & t->slot_mask) {
        struct slot *slot = &t->slots[i];
        if (slot->node == 0)
            return slot;
        const struct node *n = &t->nodes[slot->node];
        if (slot->hash == hash && n->parent == parent && mi_span_equal(n->text, text))
            return slot;
    }
}

void mi_trie_free(struct mi_trie *t)
{
    if (!t)
        return;
    free(t->nodes);
    free(t->slots);
    free(t->next);
    free(t->flags);
    free(t->stack);
    free(t);
}

void mi_trie_match(struct mi_trie *t, struct mi_span topic, struct mi_match *found)
{
    if (topic.len == 0)
        return;
    size_t depth = 0;
    t->stack[depth++] = (struct place){0, 0};
    while (depth > 0) {
        struct place p = t->stack[--depth];
        const struct node *n = &t->nodes[p.node];
        if (n->least >= found->bound)
            continue;
        bool wild = p.node != 0 || topic.data[0] != '$';
        if (wild)
            add_list(t, n->rest, found);
        if (p.at > topic.len) {
            add_list(t, n->exact, found);
            continue;
        }
        if (n->literals == 0 && n->plus == 0)
            continue;
        struct mi_span level = mi_level_at(topic, p.at);
        uint32_t next = p.at + (uint32_t)level.len + 1;
        if (wild && n->plus)
            t->stack[depth++] = (struct place){n->plus, next};
        uint32_t child = n->literals ? slot_of(t, hash_of(p.node, level), p.node, level)->node : 0;
        if (child)
            t->stack[depth++] = (struct place){child, next};
    }
}

static void add_list(const struct mi_trie *t, uint32_t rule, struct mi_match *found)
{
    for (; rule != NONE && rule < found->bound; rule = t->next[rule])
        mi_match_add(found, rule, t->flags[rule]);
}

void mi_trie_contains(struct mi_trie *t, const struct mi_filter *filter, struct mi_match *found)
{
    size_t depth = 0;
    t->stack[depth++] = (struct place){0, 0};
    bool dollar = filter->levels[0].kind == MI_LEVEL_TEXT && filter->levels[0].text.len > 0 &&
                  filter->levels[0].text.data[0] == '$';
    while (depth > 0) {
        struct place p = t->stack[--depth];
        const struct node *n = &t->nodes[p.node];
        if (n->least >= found->bound)
            continue;
        bool wild = p.node != 0 || !dollar;
        if (wild)
            add_list(t, n->rest, found);
        if (p.at == filter->count) {
            add_list(t, n->exact, found);
            continue;
        }
        const struct mi_level *level = &filter->levels[p.at];
        if (level->kind == MI_LEVEL_REST)
            continue;
        if (wild && n->plus)
            t->stack[depth++] = (struct place){n->plus, p.at + 1};
        if (level->kind != MI_LEVEL_TEXT || n->literals == 0)
            continue;
        uint32_t child = slot_of(t, hash_of(p.node, level->text), p.node, level->text)->node;
        if (child)
            t->stack[depth++] = (struct place){child, p.at + 1};
    }
}
