/* retained: the rules one by one, and a world of brokers on one log whose stores must end as the log says. */
#include "broker/retained.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t now_ns, settled, seed_of_hashes;

static uint64_t clock_now(void *context)
{
    (void)context;
    return now_ns;
}

static uint64_t clock_random(void *context)
{
    (void)context;
    return seed_of_hashes++;
}

static const struct mi_clock fake = {clock_now, clock_now, clock_random, NULL};

static uint64_t settled_below(void *context)
{
    (void)context;
    return settled;
}

static bool routes_later; /* of the brokers made next */

static struct mi_retained *make(size_t max_topics, uint64_t first_sequence, bool store_behind)
{
    struct mi_retained_options o = {max_topics, first_sequence, routes_later, store_behind,
                                    &fake,      settled_below,  NULL};
    struct mi_retained *r = mi_retained_new(&o);
    CU_ASSERT_PTR_NOT_NULL_FATAL(r);
    now_ns = 1;
    settled = 0;
    return r;
}

/* Is it put into the store again? Subscribers get it again only when it is of an earlier run (below 100). */
static bool own_again(struct mi_retained *r, const char *topic, uint64_t sequence)
{
    enum mi_own_back back = mi_retained_own_back(r, topic, sequence);
    CU_ASSERT_NOT_EQUAL(back, sequence < 100 ? MI_OWN_STORE : MI_OWN_PUBLISH);
    return back != MI_OWN_DONE;
}

static void an_own_value_holds_foreign_ones_off_until_it_is_read_back(void)
{
    struct mi_retained *r = make(10, 100, false);
    CU_ASSERT_TRUE(mi_retained_foreign(r, "a"));
    mi_retained_own(r, "a", 100);
    mi_retained_own(r, "a", 101);
    CU_ASSERT_FALSE(mi_retained_foreign(r, "a"));
    CU_ASSERT_TRUE(mi_retained_foreign(r, "b"));
    CU_ASSERT_FALSE(own_again(r, "a", 100)); /* the newer one is still to come */
    CU_ASSERT_FALSE(mi_retained_foreign(r, "a"));
    CU_ASSERT_FALSE(own_again(r, "a", 101));
    CU_ASSERT_TRUE(mi_retained_foreign(r, "a"));
    mi_retained_free(r);
}

static void what_never_comes_back_is_given_up(void)
{
    struct mi_retained *r = make(10, 100, false);
    mi_retained_own(r, "a", 100);
    CU_ASSERT_FALSE(mi_retained_foreign(r, "a"));
    now_ns += 3600 * MI_NS_PER_S;
    CU_ASSERT_FALSE(mi_retained_foreign(r, "a")); /* it is not settled: it waits in the journal */
    settled = 101;
    CU_ASSERT_FALSE(mi_retained_foreign(r, "a"));
    now_ns += 59 * MI_NS_PER_S;
    CU_ASSERT_FALSE(mi_retained_foreign(r, "a"));
    now_ns += 2 * MI_NS_PER_S;
    CU_ASSERT_TRUE(mi_retained_foreign(r, "a"));
    CU_ASSERT_TRUE(own_again(r, "a", 100)); /* it came after all: as the log says */
    mi_retained_free(r);
}

static void what_was_overtaken_is_stored_again(void)
{
    routes_later = true;
    struct mi_retained *r = make(1000, 100, false);
    routes_later = false;
    char topic[16];
    CU_ASSERT_TRUE(mi_retained_foreign(r, "a"));
    mi_retained_published(r, "a");
    mi_retained_own(r, "a", 100); /* before the foreign one is routed */
    mi_retained_own(r, "b", 101);
    mi_retained_tick(r);
    CU_ASSERT_EQUAL(mi_retained_own_back(r, "a", 100), MI_OWN_STORE);
    CU_ASSERT_EQUAL(mi_retained_own_back(r, "b", 101), MI_OWN_DONE);
    mi_retained_published(r, "a");
    mi_retained_own(r, "a", 102);
    mi_retained_tick(r);
    mi_retained_own(r, "a", 103); /* what came after that is in place */
    CU_ASSERT_EQUAL(mi_retained_own_back(r, "a", 102), MI_OWN_DONE);
    CU_ASSERT_EQUAL(mi_retained_own_back(r, "a", 103), MI_OWN_DONE);
    for (int i = 0; i < 300; i++) { /* more than are told apart */
        snprintf(topic, sizeof topic, "t%d", i);
        mi_retained_published(r, topic);
    }
    mi_retained_own(r, "t299", 104);
    mi_retained_tick(r);
    mi_retained_own(r, "t298", 105);
    CU_ASSERT_EQUAL(mi_retained_own_back(r, "t299", 104), MI_OWN_STORE);
    CU_ASSERT_EQUAL(mi_retained_own_back(r, "t298", 105), MI_OWN_DONE);
    mi_retained_free(r);
    r = make(10, 100, false); /* Mosquitto 2.0 routes at once */
    mi_retained_published(r, "a");
    mi_retained_own(r, "a", 100);
    CU_ASSERT_EQUAL(mi_retained_own_back(r, "a", 100), MI_OWN_DONE);
    mi_retained_free(r);
}

static void after_an_unclean_end_the_log_is_stored_again(void)
{
    struct mi_retained *r = make(10, 100, true);
    CU_ASSERT_TRUE(own_again(r, "a", 99));
    mi_retained_own(r, "a", 100);
    CU_ASSERT_FALSE(own_again(r, "a", 99)); /* its successor is there already */
    CU_ASSERT_FALSE(own_again(r, "a", 100));
    mi_retained_free(r);
    r = make(10, 100, false);
    CU_ASSERT_FALSE(own_again(r, "a", 99));
    mi_retained_free(r);
}

static void a_rebuild_never_replaces_what_is_newer(void)
{
    struct mi_retained *r = make(1000, 100, true);
    char topic[16];
    mi_retained_own(r, "before it began", 100);
    mi_retained_rebuild_begin(r);
    mi_retained_rebuild_begin(r);
    CU_ASSERT_FALSE(own_again(r, "before it began", 100));
    CU_ASSERT_TRUE(mi_retained_foreign(r, "foreign"));
    mi_retained_own(r, "own", 101);
    CU_ASSERT_FALSE(own_again(r, "own", 101));
    CU_ASSERT_TRUE(own_again(r, "earlier run", 99));
    mi_retained_own(r, "outstanding", 102);
    for (int i = 0; i < 300; i++) {
        snprintf(topic, sizeof topic, "t%d", i);
        CU_ASSERT_TRUE(mi_retained_foreign(r, topic));
    }
    mi_retained_rebuild_end(r);
    for (int round = 0; round < 2; round++) { /* until the last of them ends */
        CU_ASSERT_EQUAL(mi_retained_rebuilt(r, "foreign", 0), round == 1);
        CU_ASSERT_EQUAL(mi_retained_rebuilt(r, "own", 0), round == 1);
        CU_ASSERT_EQUAL(mi_retained_rebuilt(r, "before it began", 0), round == 1);
        CU_ASSERT_EQUAL(mi_retained_rebuilt(r, "earlier run", 0), round == 1);
        CU_ASSERT_EQUAL(mi_retained_rebuilt(r, "t299", 0), round == 1);
        CU_ASSERT_FALSE(mi_retained_rebuilt(r, "outstanding", 0));
        CU_ASSERT_TRUE(mi_retained_rebuilt(r, "never heard of", 0));
        if (round == 0)
            mi_retained_rebuild_end(r);
    }
    for (int i = 0; i < 300; i++) {
        snprintf(topic, sizeof topic, "t%d", i);
        CU_ASSERT_TRUE(mi_retained_rebuilt(r, topic, 0));
    }
    CU_ASSERT_FALSE(mi_retained_foreign(r, "outstanding"));
    mi_retained_free(r);
}

static void without_room_nothing_older_is_stored(void)
{
    struct mi_retained *r = make(2, 100, false);
    mi_retained_own(r, "a", 100);
    mi_retained_own(r, "b", 101);
    mi_retained_own(r, "c", 102); /* no room */
    CU_ASSERT_TRUE(mi_retained_foreign(r, "c"));
    CU_ASSERT_FALSE(own_again(r, "a", 100));
    CU_ASSERT_TRUE(own_again(r, "c", 102)); /* so that the log's order holds */
    mi_retained_rebuild_begin(r);
    CU_ASSERT_TRUE(mi_retained_rebuilt(r, "x", 0));
    CU_ASSERT_TRUE(mi_retained_foreign(r, "d"));
    CU_ASSERT_TRUE(mi_retained_rebuilt(r, "x", 0));
    CU_ASSERT_TRUE(mi_retained_foreign(r, "e")); /* no room */
    CU_ASSERT_FALSE(mi_retained_rebuilt(r, "x", 0));
    mi_retained_rebuild_end(r);
    mi_retained_free(r);
}

static void what_is_outstanding_goes_over_a_clean_stop(void)
{
    struct mi_buf saved;
    struct mi_retained *r = make(1000, 100, false);
    char topic[16];
    mi_buf_init(&saved, 100000);
    for (unsigned i = 0; i < 200; i++) {
        snprintf(topic, sizeof topic, "t%u", i);
        mi_retained_own(r, topic, 100 + i);
        if (i % 3 == 0)
            CU_ASSERT_FALSE(own_again(r, topic, 100 + i));
    }
    CU_ASSERT_TRUE(mi_retained_save(r, &saved));
    mi_retained_free(r);
    r = make(1000, 300, false);
    CU_ASSERT_TRUE(mi_retained_load(r, mi_buf_span(&saved)));
    for (unsigned i = 0; i < 200; i++) {
        snprintf(topic, sizeof topic, "t%u", i);
        CU_ASSERT_EQUAL(mi_retained_foreign(r, topic), i % 3 == 0);
        CU_ASSERT_FALSE(own_again(r, topic, 100 + i));
        CU_ASSERT_TRUE(mi_retained_foreign(r, topic));
    }
    mi_retained_free(r);
    for (size_t len = 0; len < saved.len; len++) {
        r = make(1000, 300, false);
        struct mi_span cut = {saved.data, len};
        CU_ASSERT_EQUAL(mi_retained_load(r, cut), len >= 16 && len % 16 == 0);
        mi_retained_free(r);
    }
    mi_buf_fini(&saved);
}

/* ---- a world of brokers ---- */

enum { BROKERS = 3, TOPICS = 4, LOG_MAX = 4000, WORLDS = 2000, STEPS = 300, PUBLISHED = 8 };

struct entry {
    int broker, topic, value; /* value 0: deleted */
    uint64_t sequence;
};

struct broker {
    struct mi_retained *retained;
    int store[TOPICS], saved_store[TOPICS];
    struct entry journal[LOG_MAX]; /* survives everything */
    size_t journaled, shipped;
    size_t position, delivered, saved_position;
    struct {
        int topic, value;
    } published[PUBLISHED]; /* in the last TICK; not yet routed */
    size_t published_count;
    uint64_t next_sequence;
    bool persistent;
    bool placed; /* it has begun to read */
};

static struct broker world[BROKERS];
static struct entry log_of_all[LOG_MAX];
static size_t log_count;
static size_t room;
static uint64_t random_state;

static unsigned draw(unsigned below)
{
    random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)(random_state >> 33) % below;
}

static const char *name_of(int topic)
{
    static const char *const names[TOPICS] = {"a", "b/c", "d", "e"};
    return names[topic];
}

static void publish(struct broker *b, int self)
{
    struct entry e = {self, (int)draw(TOPICS), (int)draw(4) ? (int)draw(1000000) + 1 : 0, b->next_sequence++};
    b->journal[b->journaled++] = e;
    mi_retained_own(b->retained, name_of(e.topic), e.sequence);
    b->store[e.topic] = e.value;
}

static void ship(struct broker *b)
{
    if (b->shipped < b->journaled)
        log_of_all[log_count++] = b->journal[b->shipped++];
}

/* The broker routes what the last TICK published, then the next begins. */
static void tick(struct broker *b)
{
    for (size_t i = 0; i < b->published_count; i++)
        b->store[b->published[i].topic] = b->published[i].value;
    b->published_count = 0;
    b->delivered = b->position;
    mi_retained_tick(b->retained);
}

static void publish_retained(struct broker *b, int topic, int value)
{
    b->published[b->published_count].topic = topic;
    b->published[b->published_count++].value = value;
    mi_retained_published(b->retained, name_of(topic));
}

static void take_one(struct broker *b, int self)
{
    const struct entry *e = &log_of_all[b->position++];
    if (e->broker != self) {
        if (mi_retained_foreign(b->retained, name_of(e->topic)))
            publish_retained(b, e->topic, e->value);
        return;
    }
    switch (mi_retained_own_back(b->retained, name_of(e->topic), e->sequence)) {
    case MI_OWN_PUBLISH:
        publish_retained(b, e->topic, e->value);
        break;
    case MI_OWN_STORE:
        if (routes_later)
            b->store[e->topic] = e->value;
        else
            publish_retained(b, e->topic, e->value); /* Mosquitto 2.0 cannot do it silently */
        break;
    default:
        break;
    }
}

static void read_some(struct broker *b, int self)
{
    if (!b->placed)
        return;
    tick(b);
    for (unsigned i = 1 + draw(3); i > 0 && b->position < log_count; i--)
        take_one(b, self);
    if (!routes_later)
        tick(b);
}

static void save(struct broker *b)
{
    memcpy(b->saved_store, b->store, sizeof b->store);
    b->saved_position = b->delivered;
}

/* What the bridge gathers from before the position of a broker whose store began empty. */
struct found {
    int value; /* 0: none */
    uint64_t own;
};

static void rebuild(struct broker *b, int self, struct found *found)
{
    memset(found, 0, TOPICS * sizeof *found);
    for (size_t i = 0; i < b->position; i++) {
        struct found *f = &found[log_of_all[i].topic];
        f->value = log_of_all[i].value;
        if (log_of_all[i].broker == self)
            f->own = log_of_all[i].sequence;
    }
    mi_retained_rebuild_begin(b->retained);
}

static void store_rebuilt(struct broker *b, const struct found *found)
{
    tick(b);
    for (int t = 0; t < TOPICS; t++)
        if ((found[t].value || found[t].own) && mi_retained_rebuilt(b->retained, name_of(t), found[t].own) &&
            found[t].value)
            publish_retained(b, t, found[t].value);
    mi_retained_rebuild_end(b->retained);
    if (!routes_later)
        tick(b);
}

static void rebuild_while_it_lives(struct broker *b, int self)
{
    struct found found[TOPICS];
    rebuild(b, self, found);
    for (unsigned i = draw(6); i > 0; i--) {
        if (draw(2))
            publish(b, self);
        ship(&world[draw(BROKERS)]);
        read_some(b, self);
    }
    store_rebuilt(b, found);
}

/* Reading begins at the end of the log; what was published here before may be on either side of it. */
static void begin_to_read(struct broker *b, int self)
{
    b->placed = true;
    b->position = b->delivered = b->saved_position = log_count;
    rebuild_while_it_lives(b, self);
}

static void restart(struct broker *b, int self, bool clean)
{
    struct mi_buf saved;
    mi_buf_init(&saved, 100000);
    if (clean) {
        save(b);
        CU_ASSERT_TRUE(mi_retained_save(b->retained, &saved));
    }
    mi_retained_free(b->retained);
    b->retained = make(room, b->next_sequence, !clean || !b->persistent);
    if (clean && b->persistent)
        CU_ASSERT_TRUE(mi_retained_load(b->retained, mi_buf_span(&saved)));
    mi_buf_fini(&saved);
    memcpy(b->store, b->saved_store, sizeof b->store);
    b->position = b->delivered = b->saved_position;
    b->published_count = 0;
    if (!b->persistent) {
        memset(b->store, 0, sizeof b->store);
        rebuild_while_it_lives(b, self);
    }
}

static void make_world(uint64_t seed)
{
    random_state = seed;
    log_count = 0;
    routes_later = draw(2);
    room = draw(2) ? 100 : 1 + draw(TOPICS);
    memset(world, 0, sizeof world);
    for (int i = 0; i < BROKERS; i++) {
        world[i].next_sequence = 1;
        world[i].persistent = draw(2);
        world[i].placed = draw(2);
        world[i].retained = make(room, 1, false);
    }
}

static void live(void)
{
    for (int step = 0; step < STEPS; step++) {
        int self = (int)draw(BROKERS);
        struct broker *b = &world[self];
        switch (draw(12)) {
        case 0:
        case 1:
        case 2:
            publish(b, self);
            break;
        case 3:
        case 4:
        case 5:
            ship(b);
            break;
        case 9:
            if (!b->placed)
                begin_to_read(b, self);
            else if (draw(8) == 0) /* a route that is new reads a log that the broker reads already */
                rebuild_while_it_lives(b, self);
            break;
        case 10:
            save(b);
            break;
        case 11:
            if (draw(8) == 0 && b->placed) {
                bool clean = draw(2);
                if (!b->persistent && !clean)
                    b->saved_position = b->delivered;
                restart(b, self, clean);
            }
            break;
        default:
            read_some(b, self);
        }
    }
}

static bool ends_as_the_log_says(void)
{
    int last[TOPICS] = {0};
    for (int i = 0; i < BROKERS; i++) {
        while (world[i].shipped < world[i].journaled)
            ship(&world[i]);
        if (!world[i].placed)
            begin_to_read(&world[i], i);
    }
    for (size_t i = 0; i < log_count; i++)
        last[log_of_all[i].topic] = log_of_all[i].value;
    bool same = true;
    for (int i = 0; i < BROKERS; i++) {
        while (world[i].position < log_count)
            read_some(&world[i], i);
        tick(&world[i]);
        same = same && memcmp(world[i].store, last, sizeof last) == 0;
        mi_retained_free(world[i].retained);
    }
    return same;
}

static void random_worlds_end_as_the_log_says(void)
{
    for (uint64_t seed = 1; seed <= WORLDS; seed++) {
        make_world(seed);
        live();
        bool same = ends_as_the_log_says();
        CU_ASSERT_TRUE(same);
        if (!same)
            printf("\n    seed %lu: stores differ from the log\n", (unsigned long)seed);
    }
    routes_later = false;
}

static CU_TestInfo tests[] = {
    {"an own value holds foreign ones off until it is read back",
     an_own_value_holds_foreign_ones_off_until_it_is_read_back},
    {"what never comes back is given up", what_never_comes_back_is_given_up},
    {"what was overtaken is stored again", what_was_overtaken_is_stored_again},
    {"after an unclean end the log is stored again", after_an_unclean_end_the_log_is_stored_again},
    {"a rebuild never replaces what is newer", a_rebuild_never_replaces_what_is_newer},
    {"without room nothing older is stored", without_room_nothing_older_is_stored},
    {"what is outstanding goes over a clean stop", what_is_outstanding_goes_over_a_clean_stop},
    {"random worlds end as the log says", random_worlds_end_as_the_log_says},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("retained", tests)
