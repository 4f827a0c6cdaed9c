/* SPDX-License-Identifier: BSD-3-Clause */
/* The history as a page: tools/report/page.html with page.css and page.js in it, which
 * the build makes bytes of, around the JSON of the history. */
#include "report.h"
#include "report_page.h"

void scr_report_html(const struct report *r, struct scr_str *out)
{
    struct scr_str json = SCR_STR_INIT;
    scr_report_json(r, &json);
    scr_str_append_n(out, scr_report_page_head, sizeof scr_report_page_head);
    scr_str_append_n(out, json.p, json.len);
    scr_str_append_n(out, scr_report_page_tail, sizeof scr_report_page_tail);
    if (json.bad)
        scr_str_spoil(out);
    scr_str_free(&json);
}
