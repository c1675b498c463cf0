/** /docs/webhooks: how a receiver checks a delivery (interface 12.2, 12.3). Its code is the files of `snippets/verify`, which tests run. */

import { code, codeSection } from './code-section.ts';
import { escapeHtml } from './escape-html.ts';

const languages = [
  ['node', 'Node', 'verify.mjs'],
  ['python', 'Python', 'verify.py'],
  ['php', 'PHP', 'verify.php'],
  ['go', 'Go', 'verify.go'],
  ['ruby', 'Ruby', 'verify.rb'],
  ['java', 'Java', 'Verify.java'],
  ['csharp', 'C#', 'Verify.cs'],
] as const;

const vector = `secret             whsec_b3JkZXJwYXNzLWV4YW1wbGUtc2VjcmV0LTAwMDE=
webhook-id         evt_01
webhook-timestamp  1772362800
body               {"event":"customer.changed","customer":{"uid":"cus_01"},"id":"evt_01","created":"2026-03-01T11:00:00.000Z","restuid":"rst_01","seq":42,"previous_seq":41,"change":"updated","changed_fields":["phone"]}
webhook-signature  v1,nDvDeDCy4Ic+uRqpMywAPyiMTAbzpPGZUp1VCLOkZ2E=`;

/** `signatureHeader`: name of the plain hex header here. */
export const webhooksPage = (signatureHeader: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Orderpass: receiving webhooks</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/docs/assets/errors.css">
</head>
<body>
<nav aria-label="Documents"><a href="/docs">Reference</a> <a href="/docs/errors">Error codes</a> <a href="/docs/callers">Who calls</a> <a href="/docs/changelog">Changelog</a></nav>
<main>
<h1>Receiving webhooks</h1>
<p>Each event is a POST to your endpoint, signed with the endpoint's secret as
<a href="https://www.standardwebhooks.com/">Standard Webhooks</a> specifies. Its libraries verify a delivery without
changes, and so does the code below. A receiver does five things, in this order:</p>
<ol>
<li>Verify the signature over the <strong>raw body</strong>, and that <code>webhook-timestamp</code> is at most 5 minutes old.</li>
<li>Check that <code>restuid</code> is one of your restaurants.</li>
<li>Remember <code>webhook-id</code>: it is the same on every repetition, and a repetition contains nothing new.</li>
<li>Compare <code>previous_seq</code> with the last <code>seq</code> that you saw of this entity. If they are equal, or
<code>previous_seq</code> is null (the first event of the entity), nothing was missed. If it is greater, an event was missed;
<code>GET /api/events/list</code> has events of the last 30 days. If <code>seq</code> is not greater than that last one, the event
is a repetition.</li>
<li>Answer 2xx within 15 s, and do the work after that.</li>
</ol>
<h2>Verification</h2>
${languages.map(([id, name, file]) => codeSection({ id, name, file: `verify/${file}` })).join('')}
<h2>Test vector</h2>
<p>Verify it as if the time were that of its timestamp:</p>
${code(vector)}
<h2>The plain header</h2>
<p><code>${escapeHtml(signatureHeader)}</code> holds the lower-case hex HMAC-SHA256 of the raw body, keyed with the secret as it was
shown, including <code>whsec_</code>. In PHP: <code>hash_equals(hash_hmac('sha256', $body, $secret), $header)</code>. It does not
protect against replays, because it does not cover the time: prefer <code>webhook-signature</code>. An endpoint can set another name for
this header. While a secret is being rotated, this header keeps the old secret, and the same name with <code>-Next</code> has the
new one.</p>
<h2>Keys and rotation</h2>
<p><code>webhook-signature</code> contains several signatures, separated by spaces; one valid signature is enough. While a secret is
being rotated there is a <code>v1</code> of the new one and a <code>v1</code> of the old one. <code>v1a</code> is an Ed25519 signature of the same text; its key is at
<a href="/.well-known/webhook-keys">/.well-known/webhook-keys</a>.</p>
</main>
</body>
</html>
`;
