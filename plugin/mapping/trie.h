/*
 * trie: all filters in one tree of levels, so that finding the rules of a topic does not depend on their
 * number.
 *
 * Built once, then read-only; a walk visits a node at most once, holds no more places than the deepest filter
 * has levels, does not recurse, and skips branches in which every rule stands behind one that already ends
 * the search.
 */
#ifndef MI_TRIE_H
#define MI_TRIE_H

#include "mapping/filter.h"

/* The first rules in order that match, the last of them the one that ends the search. One more than
 * MI_MAX_HITS are kept, so that "there would be more" can be seen. */
struct mi_match {
    uint32_t rules[MI_MAX_HITS + 1]; /* ascending */
    uint32_t count;
    uint32_t bound; /* rules from this number on do not matter any more */
};

void mi_match_init(struct mi_match *found);
/* Adds a rule that matches; goes_on: the search does not end with it. */
void mi_match_add(struct mi_match *found, uint32_t rule, bool goes_on);

struct mi_trie;

/* filters[i] belongs to rule i; NULL: the rule is not in the trie. Filters must outlive the trie. goes_on as
 * in "continue". NULL when memory is out. */
struct mi_trie *mi_trie_new(const struct mi_filter *const *filters, const bool *goes_on, size_t count);
void mi_trie_free(struct mi_trie *trie);

/* Adds the matching rules below found->bound. Uses the trie's own stack: one thread at a time. */
void mi_trie_match(struct mi_trie *trie, struct mi_span topic, struct mi_match *found);

/* Adds the rules whose filters contain this one: every topic that it matches, they match. Also finds the
 * filter itself if it is in the trie. One thread at a time. */
void mi_trie_contains(struct mi_trie *trie, const struct mi_filter *filter, struct mi_match *found);

#endif
