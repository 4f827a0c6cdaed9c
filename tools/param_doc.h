/* SPDX-License-Identifier: BSD-3-Clause */
/* The parameter table as text: the manual page scr_params(5) and an example
 * configuration. Appends to out; the caller checks out->bad. */
#ifndef SCR_PARAM_DOC_H
#define SCR_PARAM_DOC_H

#include "base/str.h"
#include "cfg/spec.h"

/* text broken into lines of at most width columns, each after indent. */
void scr_doc_wrap(struct scr_str *out, const char *indent, const char *text,
                  size_t width);

/* " An integer from 1 to 254 (failures)."; nothing for plain text. */
void scr_doc_type(struct scr_str *out, const struct scr_spec *spec);

/* "the environment variables …": where a default comes from that is not in the table.
 */
const char *scr_doc_derived_default(const struct scr_spec *spec);

/* Markdown for pandoc, with its title block. */
void scr_doc_markdown(struct scr_str *out);

/* A configuration file with every setting as a comment. */
void scr_doc_example(struct scr_str *out);

#endif
