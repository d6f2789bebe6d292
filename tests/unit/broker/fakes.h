/*
 * fakes: configuration, map, journal and bridge as the tests of the events need them: one route or two, an
 * answer that the test chooses, and what came in.
 */
#ifndef FAKES_H
#define FAKES_H

#include "config/config.h"
#include "journal/journal.h"
#include "loop/bridge.h"
#include "message/envelope.h"

struct fakes {
    /* map */
    size_t hit_count;                            /* of the next matches */
    struct mi_map_counts each_match, map_counts; /* what a match adds to the map's counts; those */
    enum mi_hit_status hit_status;
    bool ask_property; /* the map asks for user property "site" */
    char site[64];     /* what it got */
    bool read_back;    /* the second route reads what the hits write */
    /* journal */
    enum mi_append append; /* of the next appends */
    uint64_t no_room_for;  /* that many bytes and more do not fit; 0: all do */
    int appends, records;
    struct mi_record last;
    uint8_t bytes[4][4096]; /* headers of the last records */
    size_t header_len[4];
    char payload[1024];
    /* bridge */
    bool missing, bridge_refused, start_fails;
    bool settled; /* answer to the next waits */
    uint64_t waited_for, waited_ns;
    int starts, ticks, frees, configs_set, pictures_set;
    struct mi_interest_picture *picture; /* the last one, held */
    struct mi_buf outstanding;           /* given at the last end, and handed out at the next start */
    char reload_note[600];
    void (*wake_main)(void *);
    void *wake_context;
    struct mi_iggy_backend *logins;
    /* inbox */
    struct mi_inbound *inbox;
    /* configuration */
    bool config_refused;
    int configs_made, holders;
    struct mi_config config;
    struct mi_route routes[2];
};
extern struct fakes fakes;

void fakes_reset(void);
/* The last record's message, decoded from its headers; valid until the next call. */
const struct mi_message *fakes_decoded(int record);

#endif
