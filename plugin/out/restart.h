/*
 * restart: has the server been restarted, and did it lose what it had confirmed (design section 7, "After a
 * restart")?
 */
#ifndef MI_RESTART_H
#define MI_RESTART_H

#include "base/log.h"
#include "iggy_client.h"

struct mi_restart {
    uint64_t server_start;  /* as last answered; 0 unknown */
    uint64_t due_ns;        /* of the next question */
    uint64_t hold_until_ns; /* produce requests wait until then for the answer to a sign */
    iggy_request request;
    bool signed_login;    /* a session that had not expired was refused since the last question */
    uint64_t signs;       /* iggy_client_signs that were looked into; nothing is sent after others */
    uint64_t noticed;     /* ... that are being looked into */
    uint64_t unproved_ns; /* when the last sign came that proved nothing */
    uint32_t unproved;    /* so many in quick succession, without a produce request that went out between */
    uint64_t unguarded_until_ns; /* connections do not last here: signs are of no use */
    bool denied;                 /* the server's statistics may not be read: signs alone must do */
    struct mi_log_limit denied_limit, lost_limit;
};

#endif
