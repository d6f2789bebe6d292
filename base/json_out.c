#include "base/json_out.h"

#include "base/utf8.h"

/* Bytes of the character that the text begins with; 0 when it begins with none. */
static size_t character(struct mi_span text)
{
    for (size_t n = 1; n <= 4 && n <= text.len; n++)
        if (mi_utf8_valid((struct mi_span){text.data, n}))
            return n;
    return 0;
}

bool mi_json_add_string(struct mi_buf *out, struct mi_span text, bool *replaced)
{
    mi_buf_add_byte(out, '"');
    while (text.len > 0) {
        uint8_t first = text.data[0];
        size_t n = first < 0x80 ? 1 : character(text);
        if (first == '"' || first == '\\')
            mi_buf_addf(out, "\\%c", first);
        else if (first < 0x20 || first == 0x7f)
            mi_buf_addf(out, "\\u%04x", first);
        else if (n > 0)
            mi_buf_add(out, text.data, n);
        else
            mi_buf_add_text(out, "\xef\xbf\xbd");
        if (n == 0 && replaced)
            *replaced = true;
        n = n ? n : 1;
        text.data += n;
        text.len -= n;
    }
    return mi_buf_add_byte(out, '"');
}
