/*
 * limits: every maximum of this code that is not an option, in one list.
 */
#ifndef MI_LIMITS_H
#define MI_LIMITS_H

enum {
    MI_MAX_IGGY_NAME = 255,       /* bytes of a stream or topic name; Iggy: 1-255 */
    MI_MAX_HEADER_FIELD = 255,    /* bytes of a header key or value; Iggy: 1-255 */
    MI_MAX_HEADER_BLOCK = 100000, /* bytes of all headers of a message; Iggy */
    MI_MAX_MQTT_STRING = 65535,   /* bytes of an MQTT topic, string or binary; MQTT 5 section 1.5.4 */
    MI_MAX_ROUTES = 10000,        /* rules of one configuration */
    MI_MAX_HITS = 16,             /* routes that one PUBLISH may go to through "continue" */
    MI_MAX_CAPTURES = 32,         /* named levels, wildcards or groups of one rule */
    MI_MAX_LANES = 65536,         /* (stream, topic, partition) with waiting messages */
    MI_WINDOW_RECORDS = 65536,    /* records of the journal that out looks at at once; design section 6 */
    MI_MAX_REQUESTS = 24,         /* requests in flight to Iggy; the server refuses the 33rd of a token */
    MI_MAX_BATCH_MESSAGES = 1000, /* messages of one produce request */
    MI_MAX_BATCH_BYTES = 1900000, /* encoded body bytes of one produce request; the server's limit is 2 MB */
    MI_MAX_LOG_QUEUE = 256,       /* log lines waiting for the main thread */
    MI_QOS0_GATHER_BYTES = 65536, /* QoS 0 records held in memory before they are written; design section 6 */
};

#define MI_SEGMENT_BYTES (64ull << 20) /* one journal segment; a larger record gets its own */

#endif
