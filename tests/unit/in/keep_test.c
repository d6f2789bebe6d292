/* keep: of what the broker has, how much a position may say; track.h and save_gate.h together. */
#include "in/save_gate.h"
#include "in/track.h"
#include "support/suite.h"

static struct mi_track at(uint64_t offset)
{
    struct mi_track t = {0};
    mi_track_place(&t, offset, NULL);
    return t;
}

static void deliver(struct mi_track *t, uint64_t first, uint64_t last)
{
    for (uint64_t offset = first; offset <= last; offset++) {
        mi_track_put(t, offset);
        mi_track_read(t, &(struct mi_mark){.offset = offset, .id_lo = offset});
    }
    mi_track_delivered(t, &(struct mi_mark){.offset = last, .id_lo = last}, false);
}

static void a_place_is_kept_at_once(void)
{
    struct mi_track t = at(7);
    CU_ASSERT_EQUAL(t.kept.next, 7);
    CU_ASSERT_FALSE(mi_track_unkept(&t));
    deliver(&t, 7, 9);
    CU_ASSERT_EQUAL(t.kept.next, 7);
    CU_ASSERT_TRUE(mi_track_unkept(&t));
    mi_track_place(&t, 2, NULL); /* the topic was made again */
    CU_ASSERT_EQUAL(t.kept.next, 2);
}

static void a_save_counts_for_the_look_before(void)
{
    struct mi_track t = at(0);
    deliver(&t, 0, 4);
    CU_ASSERT_FALSE(mi_track_looked(&t, false));
    deliver(&t, 5, 6);
    CU_ASSERT_TRUE(mi_track_looked(&t, true));
    CU_ASSERT_EQUAL(t.kept.next, 5);
    CU_ASSERT_EQUAL(t.kept.mark.id_lo, 4);
    CU_ASSERT_TRUE(t.kept.marked);
    CU_ASSERT_FALSE(mi_track_looked(&t, false));
    CU_ASSERT_TRUE(mi_track_looked(&t, true));
    CU_ASSERT_EQUAL(t.kept.next, 7);
    CU_ASSERT_FALSE(mi_track_unkept(&t));
}

static void what_was_never_captured_is_not_kept(void)
{
    struct mi_track t = at(3);
    deliver(&t, 3, 5);
    CU_ASSERT_FALSE(mi_track_looked(&t, true)); /* a save between the delivery and the first look */
    CU_ASSERT_EQUAL(t.kept.next, 3);
}

static void without_a_gate_all_is_kept(void)
{
    struct mi_track t = at(0);
    deliver(&t, 0, 4);
    CU_ASSERT_TRUE(mi_track_keep(&t));
    CU_ASSERT_EQUAL(t.kept.next, 5);
    CU_ASSERT_FALSE(mi_track_keep(&t));
}

/* A broker that delivers, saves and dies at random: what is kept was always saved. */
static void field_35_a_position_is_never_ahead_of_the_store(void)
{
    static struct mi_file_identity file;
    uint64_t random = 42;
    for (int world = 0; world < 200; world++) {
        struct mi_track t = at(0);
        uint64_t delivered = 0, stored = 0, seen = file.modified_ns;
        for (int step = 0; step < 200; step++) {
            random = random * 6364136223846793005ull + 1442695040888963407ull;
            switch (random >> 62) {
            case 0:
                deliver(&t, delivered, delivered + 2);
                delivered += 3;
                break;
            case 1:
                stored = delivered;
                file.modified_ns++;
                break;
            default:
                mi_track_looked(&t, file.modified_ns != seen);
                seen = file.modified_ns;
            }
            CU_ASSERT_TRUE_FATAL(t.kept.next <= stored);
        }
        stored = delivered;
        file.modified_ns++;
        mi_track_looked(&t, true);
        mi_track_looked(&t, true);
        CU_ASSERT_EQUAL(t.kept.next, delivered);
    }
}

static CU_TestInfo tests[] = {
    {"a place is kept at once", a_place_is_kept_at_once},
    {"a save counts for the look before", a_save_counts_for_the_look_before},
    {"what was never captured is not kept", what_was_never_captured_is_not_kept},
    {"without a gate all is kept", without_a_gate_all_is_kept},
    {"field 35: a position is never ahead of the store", field_35_a_position_is_never_ahead_of_the_store},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("keep", tests)
