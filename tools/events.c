/* SPDX-License-Identifier: BSD-3-Clause */
/* Events of commands. */
#include "events.h"

#include <stdlib.h>

#include "base/cwd.h"
#include "base/str.h"

int scr_tool_logs(const struct scr_params *prm)
{
    return prm->log_enable && (prm->log_txt_enable || prm->log_syslog_enable);
}

int scr_tool_event(const struct scr_tool *t, const struct scr_params *prm,
                   const struct scr_event *e, struct scr_err *err)
{
    const struct scr_eventlog_to to = scr_eventlog_to(prm);
    struct scr_event whole = *e;
    char *host = NULL;
    if (!scr_tool_logs(prm))
        return SCR_OK;
    int rc = whole.host ? SCR_OK : scr_hostname(&host, err);
    if (host != NULL)
        whole.host = host;
    if (whole.jobid == NULL)
        whole.jobid = prm->job_id;
    if (rc == SCR_OK)
        rc = scr_eventlog_write(&t->env, &t->prefix, &whole, &to, err);
    free(host);
    return rc;
}

void scr_tool_event_try(struct scr_tool *t, const struct scr_params *prm,
                        const struct scr_event *e)
{
    struct scr_err why = SCR_ERR_INIT;
    if (scr_tool_event(t, prm, e, &why) == SCR_OK || t->log_failed)
        return;
    t->log_failed = 1;
    scr_log(t->env.log, SCR_LOG_WARN, "event log: %s", why.text);
}

void scr_tool_event_down(struct scr_tool *t, const struct scr_params *prm,
                         const struct scr_downs *down, size_t from, int64_t secs)
{
    struct scr_event e = SCR_EVENT_INIT;
    e.event = "NODE_FAIL";
    e.secs = (double)secs;
    size_t at = 0;
    for (SCR_EACH(const struct scr_down, d, &down->why)) {
        if (at++ < from || !scr_tool_logs(prm))
            continue;
        char *note = scr_asprintf("%s: %s", d->item.name, d->reason);
        e.note = note ? note : d->item.name;
        scr_tool_event_try(t, prm, &e);
        free(note);
    }
}
