/** The callers that would be refused if the trial scopes of routes were required. */
import { Fault } from '#src/contract/fault.ts';
import { live } from '../live/live.ts';
import { type Answer, page, redirect } from '../page/answer.ts';
import { type Html, html } from '../page/html.ts';
import type { View } from '../page/page.ts';
import { readWord } from '../page/read-query.ts';
import type { DryRun } from '../ports/ports.ts';
import type { Texts } from '../texts/en.ts';
import { time } from '../view/time.ts';
import { searchHref } from './audit-filter.ts';
import { policyTopic } from './topics.ts';

const policyPath = '/panel/security/policy';
const windows = [7, 30, 90] as const;
const pageSize = 50;

const hrefOf = (days: number, before?: string): string =>
  `${policyPath}?${new URLSearchParams({ days: String(days), ...(before === undefined ? undefined : { before }) })}`;

export const showPolicy = async ({ ports, texts, query }: View): Promise<Answer> => {
  const t = texts.security.policy;
  const days = readWord({ query, texts }, 'days', windows) ?? 30;
  const before = query.get('before') ?? undefined;
  const tried = ports.security.triedScopes();
  try {
    const asked = { days, limit: pageSize, ...(before === undefined ? undefined : { before }) };
    const { dryRuns, next } = await ports.security.listDryRuns(asked);
    return page({
      title: t.title,
      body: html`<p>${t.intro}</p>
${tried.length === 0 ? html`<p class="card">${t.nothingTried} <code>"dryRun": { "scopes": ["read:orders"] }</code></p>` : triedList(texts, tried)}
<nav class="tabs" aria-label="${t.window}"><ul>${windows.map(
        (one) =>
          html`<li><a href="${hrefOf(one)}"${one === days && html` aria-current="page"`}>${t.days(one)}</a></li>`,
      )}</ul></nav>
<div id="dry-runs" ${live('dry-runs', hrefOf(days, before), policyTopic)}>
${dryRuns.length === 0 ? html`<p>${t.nobody}</p>` : dryRunTable(texts, dryRuns)}
<nav class="row pager" aria-label="${texts.security.pages}">${before !== undefined && html`<a class="button" href="${hrefOf(days)}">${texts.security.newest}</a>`}${
        next !== undefined &&
        html`<a class="button" rel="next" href="${hrefOf(days, next)}">${texts.security.older}</a>`
      }</nav></div>`,
    });
  } catch (error) {
    // The cursor was cut off or typed by hand.
    if (error instanceof Fault && error.code === 'VALIDATION_ERROR' && before !== undefined)
      return redirect(hrefOf(days));
    throw error;
  }
};

const triedList = (texts: Texts, tried: readonly { route: string; scopes: readonly string[] }[]): Html =>
  html`<details class="card"><summary>${texts.security.policy.tried(tried.length)}</summary><ul>${tried.map(
    ({ route, scopes }) => html`<li><code>${route}</code>: <code>${scopes.join(' ')}</code></li>`,
  )}</ul></details>`;

const dryRunTable = (texts: Texts, dryRuns: readonly DryRun[]): Html => {
  const t = texts.security.policy;
  return html`<table class="stack">
<caption>${t.wouldBreak}</caption>
<thead><tr><th scope="col">${t.caller}</th><th scope="col">${t.route}</th><th scope="col">${t.missing}</th><th scope="col">${t.calls}</th><th scope="col">${t.firstSeen}</th><th scope="col">${t.lastSeen}</th></tr></thead>
<tbody>${dryRuns.map(
    ({ caller, route, missingScopes, calls, firstSeen, lastSeen }) => html`<tr>
<td data-label="${t.caller}"><a href="${searchHref({ [caller.startsWith('opc_') ? 'client' : 'credential']: caller, route })}"><code>${caller}</code></a></td>
<td data-label="${t.route}"><code>${route}</code></td>
<td data-label="${t.missing}"><code>${missingScopes.join(' ')}</code></td>
<td data-label="${t.calls}">${calls}</td>
<td data-label="${t.firstSeen}">${time(firstSeen)}</td>
<td data-label="${t.lastSeen}">${time(lastSeen)}</td></tr>`,
  )}</tbody></table>`;
};
