/** Verification of the audit, the signed heads of its chains, and the export. */
import { minuteMs } from '#src/platform/clock.ts';
import { refreshOn } from '../live/refresh-on.ts';
import { type Answer, page, redirect } from '../page/answer.ts';
import { type Html, html } from '../page/html.ts';
import type { View } from '../page/page.ts';
import { withQuery } from '../page/page-path.ts';
import type { AuditNames, SignedHead, TreeState, Verification } from '../ports/security.ts';
import type { Texts } from '../texts/en/en.ts';
import { badge } from '../view/badge.ts';
import { pager } from '../view/pager.ts';
import { table } from '../view/table.ts';
import { exactTime, time } from '../view/time.ts';
import { exportLinks } from './audit-filter.ts';
import { newestAndOlder } from './audit-table.ts';
import { named } from './event-words.ts';
import { timesSwitch } from './times-switch.ts';
import { integrityTopic } from './topics.ts';

export const integrityPath = '/panel/security/integrity';
const verificationsShown = 5;
const headsShown = 20;
/** Each process signs its head every 15 seconds. */
const lateMs = 5 * minuteMs;

export const showIntegrity = async (view: View): Promise<Answer> => {
  const { ports, texts, query, now } = view;
  const t = texts.security.integrity;
  const before = /^\d{1,9}$/.exec(query.get('before') ?? '')?.[0];
  const asked = { limit: headsShown + 1, ...(before === undefined ? undefined : { before: Number(before) }) };
  const [verifications, heads] = [
    await ports.security.listVerifications(verificationsShown),
    await ports.security.listHeads(asked),
  ];
  const names = await ports.security.namesOf(verifications.map((one) => one.actor));
  const path = before === undefined ? integrityPath : `${integrityPath}?before=${before}`;
  return page({
    title: t.title,
    body: html`<div class="row spread"><p>${t.intro}</p>${timesSwitch(texts)}</div>
<div id="verification" ${refreshOn('verification', path, integrityTopic)}>${verification(view, verifications, names)}</div>
<h2>${t.checkpoints}</h2>
${checkpoint(texts, await ports.security.describeTree())}
<h2>${t.heads}</h2>
<p class="hint">${t.headsIntro}</p>
${headTable(texts, heads.slice(0, headsShown), now)}
${pager(view, {
  after: before,
  next: heads.length > headsShown ? heads[headsShown - 1]?.chain.toString() : undefined,
  pathOf: (cursor) => withQuery(integrityPath, { before: cursor }),
  labels: newestAndOlder(texts),
})}
<h2>${t.exportAll}</h2>
<p>${t.exportIntro}</p>
<p class="row">${exportLinks(texts, {})}</p>`,
  });
};

/** One sentence: what the newest checkpoint covers, how old that is, and what was compared just now. */
const checkpoint = ({ security: { integrity: t } }: Texts, { size, last, newest, waiting }: TreeState): Html => {
  if (size === 0) return html`<p>${t.noCheckpoint}</p>`;
  const age = newest !== null && html`${t.newestIn} ${exactTime(newest)} (${time(newest, 'relative')}). `;
  return html`<p class="message ${last === 'changed' ? 'bad' : 'good'}" role="${last === 'changed' ? 'alert' : 'status'}">${t.checkpointOf(size)} ${age}${t.lastLeaf[last]} ${t.waiting(waiting)}</p>`;
};

const verification = ({ texts, csrfField }: View, verifications: readonly Verification[], names: AuditNames): Html => {
  const t = texts.security.integrity;
  const [last] = verifications;
  return html`${last === undefined ? html`<p>${t.never}</p>` : verdict(texts, last, names)}
${
  last?.state !== 'running' &&
  html`<form method="post" action="${integrityPath}/verify">${csrfField}<button class="primary">${t.verify}</button></form>`
}
${verifications.length > 0 && verificationTable(texts, verifications, names)}`;
};

const verdict = (
  texts: Texts,
  { state, problem, events, unsigned, chains, actor, started, finished }: Verification,
  names: AuditNames,
): Html => {
  const when = html`${exactTime(finished ?? started)} (${names.get(actor) ?? actor})`;
  const t = texts.security.integrity;
  switch (state) {
    case 'running':
      return html`<p class="message warn" role="status">${t.running(events)}</p>`;
    case 'interrupted':
      return html`<p class="message warn" role="status">${t.interrupted}</p>`;
    case 'sound':
      return html`<p class="message good" role="status">${t.sound(events, unsigned, chains)} ${t.checkedAt} ${when}.</p>`;
    case 'broken':
      return html`<p class="message bad" role="alert">${t.broken(placeOf(problem), problemText(texts, problem))} ${t.checkedAt} ${when}.</p>`;
  }
};

/** The position of an event, or the number of a chain. */
const placeOf = (problem: Verification['problem']): string => {
  if (problem === null) return '';
  return problem.seq === null ? String(problem.chain) : `${problem.chain}-${problem.seq}`;
};

const problemText = ({ security: { integrity: t } }: Texts, problem: Verification['problem']): string =>
  problem?.kind === undefined
    ? t.problems.other
    : t.problems[problem.kind] + (problem.upTo ? t.upTo(problem.upTo) : '');

const verificationTable = (texts: Texts, verifications: readonly Verification[], names: AuditNames): Html => {
  const t = texts.security.integrity;
  return table({
    caption: t.verifications,
    hasRowHeader: false,
    columns: [t.started, t.result, t.events, t.by],
    rows: verifications.map(({ started, state, events, actor }) => [
      exactTime(started),
      t.states[state],
      events,
      named(names, actor),
    ]),
  });
};

export const verifyNow = async ({ ports, actor, address, texts }: View): Promise<Answer> => {
  const t = texts.security.integrity;
  const started = await ports.security.startVerification({ actor, address });
  return redirect(integrityPath, { tone: 'good', text: started ? t.begun : t.runsAlready });
};

const headTable = (texts: Texts, heads: readonly SignedHead[], now: Date): Html => {
  const t = texts.security.integrity;
  return table({
    caption: texts.security.newestFirst,
    hasRowHeader: false,
    columns: [t.chain, t.process, t.opened, t.events, t.signed, t.state],
    rows: heads.map((head) => [
      head.chain,
      html`<code>${head.process}</code>`,
      exactTime(head.opened),
      head.seq,
      exactTime(head.signed),
      headState(texts, head, now),
    ]),
  });
};

const changesProcess = 'changes';

/** The chain "changes" is signed with each change. Other chains are signed regularly while their process runs. */
const headState = (texts: Texts, { process, closed, signed }: SignedHead, now: Date): Html => {
  const t = texts.security.integrity;
  if (closed) return badge('plain', t.closed);
  if (process !== changesProcess && now.getTime() - signed.getTime() > lateMs) return badge('warn', t.silent);
  return badge('good', t.open);
};
