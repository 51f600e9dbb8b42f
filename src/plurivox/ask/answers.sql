-- The tables of a store of answers, and questions to them that take several lines; each has its name above it.

-- name: tables
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT);
CREATE TABLE runs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,  -- a number is never given again, so that "earlier" keeps its meaning
    host TEXT, pid INTEGER, started_ticks INTEGER, heartbeat REAL
);
CREATE TABLE answers (
    key TEXT PRIMARY KEY, server TEXT, model TEXT, prompt TEXT, item TEXT, sample INTEGER, order_json TEXT,
    messages_json TEXT, mode TEXT, params_json TEXT, state TEXT, text TEXT, refusal TEXT, point INTEGER, rule TEXT,
    span_start INTEGER, span_end INTEGER, distribution_json TEXT, held REAL, finish TEXT, version TEXT,
    prompt_tokens INTEGER, completion_tokens INTEGER, attempts INTEGER, seconds REAL, error TEXT, asked_at TEXT,
    run INTEGER
);

-- name: each
SELECT key, model, prompt, item, sample, order_json, coalesce(text, ''), coalesce(refusal, ''), state, point, rule,
    span_start, span_end, asked_at, run
FROM answers WHERE key > ? AND state <> 'asking' ORDER BY key LIMIT ?

-- name: change
UPDATE answers SET state = ?, point = ?, rule = ?, span_start = ?, span_end = ?
WHERE key = ? AND state IS ? AND point IS ? AND rule IS ? AND span_start IS ? AND span_end IS ? AND asked_at IS ?
    AND run IS ?

-- name: frame
SELECT model, prompt, item, sample, state, NULL, point, rule, text, NULL, distribution_json, held, finish, version,
    prompt_tokens, completion_tokens, server, mode, params_json, order_json, error, asked_at, messages_json, span_start,
    span_end
FROM answers WHERE state <> 'asking' ORDER BY model, prompt, item, sample, key

-- name: refused
SELECT model, prompt, item, sample, rule, coalesce(nullif(text, ''), refusal, '')
FROM answers WHERE state = 'refused' ORDER BY model, prompt, item, sample, key

-- name: replace
INSERT OR REPLACE INTO answers
SELECT :key, :server, :model, :prompt, :item, :sample, :order_json, :messages_json, :mode, :params_json, :state, :text,
    :refusal, :point, :rule, :span_start, :span_end, :distribution_json, :held, :finish, :version, :prompt_tokens,
    :completion_tokens, :attempts, :seconds, :error, :asked_at, :run
WHERE NOT EXISTS (SELECT 1 FROM answers WHERE key = :key AND
