/*
 * options: the one table of everything that can be configured.
 *
 * Each row says where a key stands, what it takes, its default and limits, whether a reload can change it,
 * and in a sentence what it does. The table drives reading (read.c), checking, defaults, plugin_opt_ lines,
 * printing (print.c) and the reference page (reference.c): a key that is not here does not exist.
 */
#ifndef MI_OPTIONS_H
#define MI_OPTIONS_H

#include "base/bytes.h"
#include "base/error.h"
#include "mapping/topic_map.h"

enum mi_place {
    MI_AT_ROOT,
    MI_AT_IGGY,
    MI_AT_JOURNAL,
    MI_AT_ROUTE,
    MI_AT_CREATE,
    MI_AT_UNMATCHED, /* has no rows of its own: those of MI_AT_ROUTE that say so */
    MI_AT_DEAD_LETTER,
    MI_AT_CLIENT_EVENTS,
    MI_AT_STATUS,
    MI_AT_BROKER,
    MI_AT_HISTORY,
    MI_AT_AUTH,
    MI_AT_LIMITS,
    MI_PLACES
};

enum mi_kind {
    MI_TEXT, /* const char *, limits in bytes */
    MI_PATH, /* const char *, relative ones count from the configuration file's folder */
    MI_URLS, /* one or a list, into the configuration's urls */
    MI_BOOL,
    MI_COUNT,   /* a number */
    MI_SIZE,    /* bytes */
    MI_TIME,    /* limits in nanoseconds, stored in units of unit_ns */
    MI_CHOICE,  /* the number of the word in choices, counted from first */
    MI_ADDRESS, /* host:port, into status_address and status_port */
    MI_OBJECT,  /* opens another place */
    MI_CREATE,  /* true, false, or the object of MI_AT_CREATE */
    MI_ROUTES   /* list of MI_AT_ROUTE */
};

struct mi_option {
    enum mi_place place;
    const char *key;
    enum mi_kind kind;
    enum mi_place opens;  /* MI_OBJECT */
    const char *fallback; /* the default as one would write it (texts without quotes); NULL: none */
    const char *absent;   /* what it means that there is none; for the reference */
    uint64_t min, max;    /* limits, both inclusive; max 0: none */
    uint64_t unit_ns;
    const char *choices; /* "hold|refuse" */
    unsigned first;
    bool unknown;         /* MI_TIME, MI_COUNT: UINT64_MAX is "not known", and 0 a value as any other */
    const char *word;     /* MI_TIME: a word that stands for UINT64_MAX */
    size_t offset, width; /* in struct mi_config, or struct mi_route_draft for routes (build.h) */
    bool required;
    bool fixed;             /* a reload cannot change it */
    bool unmatched;         /* MI_AT_ROUTE: stands in "unmatched" too */
    enum mi_direction only; /* MI_AT_ROUTE: means something for this direction only; 0: for all */
    const char *plugin_opt; /* its name as plugin_opt_, or NULL */
    const char *help;
};

enum { MI_MAX_OPTIONS = 192, MI_MAX_URLS = 16 };
extern const struct mi_option mi_options[];
extern const size_t mi_option_count; /* at most MI_MAX_OPTIONS */

/* "", "iggy", "routes[]", ... */
const char *mi_place_path(enum mi_place place);

/* Does the option stand in this place? (MI_AT_UNMATCHED shares rows with MI_AT_ROUTE.) */
bool mi_option_at(const struct mi_option *o, enum mi_place place);
const struct mi_option *mi_option_find(enum mi_place place, const char *key);
const struct mi_option *mi_option_of_plugin_opt(const char *name);
size_t mi_option_index(const struct mi_option *o);

/* Stores a value that was written as text into base, the place's struct; texts are stored as the pointer
 * given, which must live as long. Not for MI_URLS, MI_ADDRESS and the kinds that open something. -1 with a
 * sentence. */
int mi_option_set(const struct mi_option *o, void *base, const char *value, struct mi_error *err);
/* Stores a whole number (MI_COUNT) or truth value (MI_BOOL); the same checks. */
int mi_option_set_number(const struct mi_option *o, void *base, uint64_t value, struct mi_error *err);
/* Appends the value in base as JSON; false when there is none (nothing is appended then). For the kinds of
 * mi_option_set, MI_COUNT and MI_BOOL. */
bool mi_option_value(const struct mi_option *o, const void *base, struct mi_buf *out);
/* Appends text as a JSON string. */
void mi_json_quote(struct mi_buf *out, const char *text);

/* What a person may have meant by an unknown key of that place, as the end of a sentence that begins with the
 * key. */
void mi_option_suggest(enum mi_place place, const char *key, struct mi_error *sentence);

#endif
