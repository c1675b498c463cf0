/** The callers that would be refused if the trial scopes of routes were required. */
import { Fault } from '#src/contract/fault.ts';
import { refreshOn } from '../live/refresh-on.ts';
import { type Answer, page, redirect } from '../page/answer.ts';
import { type Html, html } from '../page/html.ts';
import type { View } from '../page/page.ts';
import { readChoice } from '../page/read-query.ts';
import type { AuditNames, DryRun } from '../ports/security.ts';
import type { Texts } from '../texts/en/en.ts';
import { pager } from '../view/pager.ts';
import { table } from '../view/table.ts';
import { exactTime } from '../view/time.ts';
import { searchHref } from './audit-filter.ts';
import { newestAndOlder } from './audit-table.ts';
import { timesSwitch } from './times-switch.ts';
import { policyTopic } from './topics.ts';

const policyPath = '/panel/security/policy';
const windows = [7, 30, 90] as const;
const pageSize = 50;

const hrefOf = (days: number, before?: string): string =>
  `${policyPath}?${new URLSearchParams({ days: String(days), ...(before === undefined ? undefined : { before }) })}`;

export const showPolicy = async ({ ports, texts, query }: View): Promise<Answer> => {
  const t = texts.security.policy;
  const days = readChoice({ query, texts }, 'days', windows) ?? 30;
  const before = query.get('before') ?? undefined;
  const tried = ports.security.triedScopes();
  try {
    const asked = { days, limit: pageSize, ...(before === undefined ? undefined : { before }) };
    const { dryRuns, next } = await ports.security.listDryRuns(asked);
    const names = await ports.security.namesOf(dryRuns.map(({ caller }) => caller));
    return page({
      title: t.title,
      body: html`<div class="row spread"><p>${t.intro}</p>${timesSwitch(texts)}</div>
${tried.length === 0 ? html`<p class="card">${t.nothingTried} <code>"dryRun": { "scopes": ["read:orders"] }</code></p>` : triedList(texts, tried)}
<nav class="tabs" aria-label="${t.window}"><ul>${windows.map(
        (one) =>
          html`<li><a href="${hrefOf(one)}"${one === days && html` aria-current="page"`}>${t.days(one)}</a></li>`,
      )}</ul></nav>
<div id="dry-runs" ${refreshOn('dry-runs', hrefOf(days, before), policyTopic)}>
${dryRuns.length === 0 ? html`<p>${t.noCaller}</p>` : dryRunTable(texts, dryRuns, names)}
${pager({ texts }, { after: before, next, pathOf: (cursor) => hrefOf(days, cursor), labels: newestAndOlder(texts) })}</div>`,
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

const dryRunTable = (texts: Texts, dryRuns: readonly DryRun[], names: AuditNames): Html => {
  const t = texts.security.policy;
  return table({
    caption: t.wouldBreak,
    hasRowHeader: false,
    columns: [t.caller, t.route, t.missing, t.calls, t.firstSeen, t.lastSeen],
    rows: dryRuns.map(({ caller, route, missingScopes, calls, firstSeen, lastSeen }) => [
      html`${names.has(caller) && html`${names.get(caller)}<br>`}<a href="${searchHref({ [caller.startsWith('opc_') ? 'client' : 'credential']: caller, route })}"><code>${caller}</code></a>`,
      html`<code>${route}</code>`,
      html`<code>${missingScopes.join(' ')}</code>`,
      calls,
      exactTime(firstSeen),
      exactTime(lastSeen),
    ]),
  });
};
