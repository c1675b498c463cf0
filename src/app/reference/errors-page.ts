/** /docs/errors: one anchor per error code, the target of `error_uri` and of a problem's `type` (interface 4.3, 6). */
import { faultCodes, faultStatus, faultTitle } from '#src/contract/fault.ts';
import { detailTexts, faultTexts, oauthTexts } from './document/error-texts.ts';
import { escapeHtml } from './escape-html.ts';

type Entry = { code: string; status: string; title: string; meaning: string };

const faults: readonly Entry[] = faultCodes.map((code) => ({
  code,
  status: code === 'PRODUCT_NOT_FOUND' ? '404, 422' : String(faultStatus(code)),
  title: faultTitle(code),
  meaning: faultTexts[code],
}));

const oauth: readonly Entry[] = Object.entries(oauthTexts).map(([code, [status, title, meaning]]) => ({
  code,
  status,
  title,
  meaning,
}));

const section = ({ code, status, title, meaning }: Entry): string => `
<section id="${code}" aria-labelledby="${code}-title" tabindex="-1">
<h3 id="${code}-title"><a href="#${code}">${code}</a></h3>
<p><strong>${escapeHtml(title)}</strong> · status ${status}</p>
<p>${escapeHtml(meaning)}</p>
</section>`;

const contents = (entries: readonly Entry[]): string =>
  `<ul>${entries.map(({ code }) => `<li><a href="#${code}">${code}</a></li>`).join('')}</ul>`;

export const errorsPage = (): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Orderpass: error codes</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/docs/assets/errors.css">
</head>
<body>
<nav aria-label="Documents"><a href="/docs">Reference</a> <a href="/docs/webhooks">Webhooks</a> <a href="/docs/callers">Who calls</a> <a href="/docs/changelog">Changelog</a></nav>
<main>
<h1>Error codes</h1>
<p>Every refusal names one of these codes: as <code>error</code> of the envelope and as <code>code</code> of a problem
document (RFC 9457). A Bearer caller gets the OAuth errors for 400, 401 and 403, with the same <code>code</code>,
<code>errors</code> and <code>missing_scopes</code> beside <code>error</code> and <code>error_description</code>; so do the
OAuth endpoints. A service behind the gateway names missing scopes in its own 403, either with
<code>WWW-Authenticate: Bearer error="insufficient_scope", scope="…"</code> (RFC 6750) or with JSON that has <code>scope</code> (a
string, separated by spaces) or <code>missing_scopes</code> (a list).
Quote the <code>request_id</code> when you ask for help.</p>
<h2>Codes of the interface</h2>
<nav aria-label="Codes of the interface">${contents(faults)}</nav>
${faults.map(section).join('')}
<h2>OAuth errors</h2>
<nav aria-label="OAuth errors">${contents(oauth)}</nav>
${oauth.map(section).join('')}
<h2>Detail codes</h2>
<p>In <code>errors[]</code>, each entry points to one value. The value:</p>
<dl>${Object.entries(detailTexts)
  .map(([code, words]) => `<dt>${code}</dt><dd>${escapeHtml(words)}</dd>`)
  .join('')}</dl>
</main>
</body>
</html>
`;
