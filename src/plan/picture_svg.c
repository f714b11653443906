/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * picture_svg.c - words, lines and boxes as SVG. Colours are Okabe and Ito's, for every kind of colour vision; what
 * must be told apart also differs in dash, weight or hatching, for black and white.
 */
#include "plan/picture_parts.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const STYLE[] = {
    "text{font-family:'DejaVu Sans',Verdana,Helvetica,Arial,sans-serif;font-size:105px;fill:#222}",
    ".title{font-size:170px;font-weight:bold}.line{font-size:120px}.note{font-size:103px;fill:#8A4B00}",
    ".head{font-size:125px;font-weight:bold}.cap{font-size:103px;fill:#444}.key{font-size:105px}",
    ".ax{font-size:100px;fill:#444}.axm{font-size:100px;fill:#444;text-anchor:middle}",
    ".axe{font-size:100px;fill:#444;text-anchor:end}.st{font-size:90px;fill:#333;text-anchor:middle}",
    ".tt{font-size:90px;fill:#0072B2;text-anchor:middle}",
    ".n,.b{paint-order:stroke;stroke:#fff;stroke-linejoin:round}",
    ".n{text-anchor:middle;fill:#111;stroke-opacity:.8;stroke-width:24px}",
    ".b{font-size:100px;fill:#A33F00;font-weight:bold;stroke-width:28px}",
    ".source,.target,.thintarget,.buffer,.thin,.cut,.faint,.aggregate,.first,.now,.order{fill:none}",
    ".source{stroke:#333;stroke-width:9px}.faint{stroke:#999;stroke-width:6px}",
    ".target,.thintarget{stroke:#0072B2;stroke-dasharray:75 40}",
    ".target{stroke-width:22px}.thintarget{stroke-width:13px}",
    ".buffer,.thin,.cut,.now{stroke:#D55E00}.buffer{stroke-width:16px}.thin{stroke-width:8px}.now{stroke-width:36px}",
    ".cut{stroke-width:14px;stroke-dasharray:16 20}",
    ".aggregate{stroke:#009E73;stroke-width:32px}.inagg{fill:#009E73;fill-opacity:.16}",
    ".first{stroke:#0072B2;stroke-width:28px}.block1{fill:url(#hb)}",
    ".order{stroke:#CC79A7;stroke-width:16px}.dot{fill:#CC79A7}",
    ".frame{fill:none;stroke:#333;stroke-width:10px}.paper{fill:#fff}.outside{fill:url(#out)}",
    ".written{fill:#E4E4E4}.complete{fill:url(#dots)}.new{fill:url(#hn)}.old{fill:url(#ho)}",
    ".s0{fill:#fff}.s1{fill:#FEEBD8}.s2{fill:#FDD3A8}.s3{fill:#FBB36E}.s4{fill:#F08C3A}",
    ".before{fill:#F6C9A8;stroke:#D55E00;stroke-width:8px}.after{fill:url(#ha)}",
    ".grid,.loop,.budget,.alloc,.max{fill:none}.grid{stroke:#DDD;stroke-width:7px}",
    ".loop{stroke:#BBB;stroke-width:7px;stroke-dasharray:20 30}.budget{stroke:#111;stroke-width:22px}",
    ".alloc{stroke:#111;stroke-width:13px;stroke-dasharray:90 40 20 40}",
    ".max{stroke:#A33F00;stroke-width:13px;stroke-dasharray:40 30}.ring{fill:#fff;stroke:#A33F00;stroke-width:22px}",
    ".face{fill:#fff}.top{fill:#F4F4F4}.side{fill:#E8E8E8}",
};

/* Hatching: background, line colour, angle, spacing and width. */
static const struct pattern {
    const char *id, *paper, *ink;
    int angle, gap, width;
} PATTERNS[] = {
    {"hn", "#FBD9C0", "#C44F00", 45, 70, 22},  {"ho", "#D3E7F4", "#00568A", -45, 70, 22},
    {"hb", "#E3F0F8", "#0072B2", -45, 110, 9}, {"ha", "#F6C9A8", "#A33F00", 45, 60, 16},
    {"out", "#F7F7F7", "#C4C4C4", 90, 50, 8},
};

void rs_svg_add(rs_svg *svg, const char *format, ...)
{
    char line[1200];
    va_list args;
    if (svg->status != RESPLIT_OK) {
        return;
    }
    va_start(args, format);
    int n = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (n < 0 || n >= (int)sizeof line) {
        svg->status = rs_fail(svg->err, RESPLIT_EINTERNAL, "a line of %d bytes in a picture: '%.60s'", n, format);
        return;
    }
    svg->status = rs_text_add_bytes(svg->text, line, (size_t)n, svg->err);
}

void rs_svg_begin(rs_svg *svg, int width, int height)
{
    rs_svg_add(svg,
               "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" RS_PICTURE_MARK
               "\n<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
               "height=\"%d\" viewBox=\"0 0 %d %d\" role=\"img\">\n<style>\n",
               width / PX, height / PX, width, height);
    for (size_t i = 0; i < sizeof STYLE / sizeof STYLE[0]; i++) {
        rs_svg_add(svg, "%s\n", STYLE[i]);
    }
    rs_svg_add(svg, "</style>\n<defs>\n");
    for (size_t i = 0; i < sizeof PATTERNS / sizeof PATTERNS[0]; i++) {
        const struct pattern *p = &PATTERNS[i];
        rs_svg_add(svg,
                   "<pattern id=\"%s\" width=\"%d\" height=\"%d\" patternUnits=\"userSpaceOnUse\" "
                   "patternTransform=\"rotate(%d)\"><path d=\"M0 0H%dV%dH0Z\" fill=\"%s\"/><path d=\"M%d 0V%d\" "
                   "stroke=\"%s\" stroke-width=\"%d\"/></pattern>\n",
                   p->id, p->gap, p->gap, p->angle, p->gap, p->gap, p->paper, p->gap / 2, p->gap, p->ink, p->width);
    }
    rs_svg_add(svg, "<pattern id=\"dots\" width=\"60\" height=\"60\" patternUnits=\"userSpaceOnUse\">"
                    "<path d=\"M0 0H60V60H0Z\" fill=\"#C9E9DD\"/><circle cx=\"30\" cy=\"30\" r=\"13\" "
                    "fill=\"#00704F\"/></pattern>\n"
                    "<marker id=\"tip\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerUnits=\"userSpaceOnUse\" "
                    "markerWidth=\"75\" markerHeight=\"75\" orient=\"auto\"><path d=\"M0 0L10 5L0 10L2.5 5Z\" "
                    "fill=\"#9E4A7A\"/></marker>\n</defs>\n");
    rs_svg_rect(svg, "paper", (rs_area){0, 0, width, height});
}

void rs_svg_rect(rs_svg *svg, const char *name, rs_area area)
{
    rs_svg_add(svg, "<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>\n", name, area.x, area.y, area.w,
               area.h);
}

static void escape(const char *in, char *out, size_t room)
{
    size_t n = 0;
    for (; *in != '\0' && n + 7 < room; in++) {
        const char *word = *in == '&' ? "&amp;" : *in == '<' ? "&lt;" : *in == '>' ? "&gt;" : NULL;
        if (word != NULL) {
            n += (size_t)snprintf(out + n, room - n, "%s", word);
        } else if ((unsigned char)*in >= ' ') {
            out[n++] = *in;
        }
    }
    out[n] = '\0';
}

void rs_svg_text(rs_svg *svg, const char *name, int x, int y, const char *format, ...)
{
    char plain[500], safe[700];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(plain, sizeof plain, format, args);
    va_end(args);
    escape(plain, safe, sizeof safe);
    rs_svg_add(svg, "<text class=\"%s\" x=\"%d\" y=\"%d\">%s</text>\n", name, x, y, safe);
}

/* 3,500 as 3.5k: at most four characters. */
static void shorten(int64_t number, char out[RS_WORD])
{
    static const char *const UNITS[] = {"k", "M", "G", "T", "P", "E"};
    double value = (double)number / 1000;
    size_t i = 0;
    for (; value >= 999.5 && i + 1 < sizeof UNITS / sizeof UNITS[0]; i++) {
        value /= 1000;
    }
    int64_t tenths = (int64_t)(value * 10 + 0.5);
    if (tenths < 100 && tenths % 10 != 0) {
        (void)snprintf(out, RS_WORD, "%" PRId64 ".%" PRId64 "%s", tenths / 10, tenths % 10, UNITS[i]);
    } else {
        (void)snprintf(out, RS_WORD, "%" PRId64 "%s", (tenths + 5) / 10, UNITS[i]);
    }
}

/* The largest size at which n characters fit, or 0. */
static int fitting_size(rs_area area, size_t n, int size)
{
    int by_width = (int)((area.w - 2 * PX) * 100 / (66 * (int64_t)n)), by_height = area.h * 8 / 10;
    int fits = (int)rs_min(size, rs_min(by_width, by_height));
    return fits >= 6 * PX ? fits : 0;
}

void rs_svg_number(rs_svg *svg, rs_area area, int64_t number, int size)
{
    char word[RS_WORD];
    (void)snprintf(word, sizeof word, "%" PRId64, number);
    int fits = fitting_size(area, strlen(word), size);
    if ((fits == 0 || (fits < 8 * PX && number > 9999)) && number >= 1000) {
        shorten(number, word);
        fits = fitting_size(area, strlen(word), size);
    }
    if (fits > 0) {
        rs_svg_add(svg, "<text class=\"n\" x=\"%d\" y=\"%d\" font-size=\"%d\">%s</text>\n", area.x + area.w / 2,
                   area.y + area.h / 2 + fits * 36 / 100, fits, word);
    }
}

const char *rs_word_count(int64_t count, char out[RS_WORD])
{
    char digits[24];
    size_t n = (size_t)snprintf(digits, sizeof digits, "%" PRId64, count), used = 0;
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && (n - i) % 3 == 0 && digits[i - 1] != '-') {
            out[used++] = ',';
        }
        out[used++] = digits[i];
    }
    out[used] = '\0';
    return out;
}

const char *rs_word_bytes(int64_t bytes, char out[RS_WORD])
{
    static const char *const UNITS[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)bytes / 1024;
    size_t i = 0;
    if (bytes < 1024) {
        (void)snprintf(out, RS_WORD, "%" PRId64 " bytes", bytes);
        return out;
    }
    for (; value >= 1023.95 && i + 1 < sizeof UNITS / sizeof UNITS[0]; i++) {
        value /= 1024;
    }
    int64_t tenths = (int64_t)(value * 10 + 0.5);
    (void)snprintf(out, RS_WORD, "%" PRId64 ".%" PRId64 " %s", tenths / 10, tenths % 10, UNITS[i]);
    return out;
}

static size_t add_lengths(const rs_axis *axis, char *out, size_t room)
{
    size_t n = (size_t)snprintf(out, room, "(");
    for (int64_t i = 0; i < axis->n && i < 5 && n < room; i++) {
        rs_span span = rs_axis_stored(axis, i);
        n += (size_t)snprintf(out + n, room - n, "%s%" PRId64, i > 0 ? "+" : "", span.hi - span.lo);
    }
    if (n < room) {
        n += (size_t)snprintf(out + n, room - n, "%s)", axis->n > 5 ? "+\u2026" : "");
    }
    return n;
}

const char *rs_words_blocks(int ndim, const rs_axis *axes, char *out, size_t room)
{
    size_t n = 0;
    out[0] = '\0';
    for (int d = 0; d < ndim && n < room; d++) {
        const rs_axis *axis = &axes[d];
        if (d > 0) {
            n += (size_t)snprintf(out + n, room - n, " \u00D7 ");
        }
        if (n >= room) {
            break;
        }
        if (axis->step > 0 || axis->n == 1) {
            int64_t length = axis->n == 1 ? axis->last - axis->first : axis->step;
            n += (size_t)snprintf(out + n, room - n, "%" PRId64, length);
        } else {
            n += add_lengths(axis, out + n, room - n);
        }
    }
    return out;
}
