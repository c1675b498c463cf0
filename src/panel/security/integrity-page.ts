/** Verification of the audit, the signed heads of its chains, and the export. */
import { minuteMs } from '#src/platform/clock.ts';
import { refreshOn } from '../live/refresh-on.ts';
import { type Answer, page, redirect } from '../page/answer.ts';
import { type Html, html } from '../page/html.ts';
import type { View } from '../page/page.ts';
import { withQuery } from '../page/page-path.ts';
import type { SignedHead, Verification } from '../ports/ports.ts';
import type { Texts } from '../texts/en/en.ts';
import { badge } from '../view/badge.ts';
import { message } from '../view/layout.ts';
import { pager } from '../view/pager.ts';
import { table } from '../view/table.ts';
import { time } from '../view/time.ts';
import { newestAndOlder } from './audit-table.ts';
import { exportLinks } from './export-links.ts';
import { integrityTopic } from './topics.ts';

const integrityPath = '/panel/security/integrity';
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
  const path = before === undefined ? integrityPath : `${integrityPath}?before=${before}`;
  return page({
    title: t.title,
    body: html`<p>${t.intro}</p>
<div id="verification" ${refreshOn('verification', path, integrityTopic)}>${verification(view, verifications)}</div>
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

const verification = ({ texts, csrfField }: View, verifications: readonly Verification[]): Html => {
  const t = texts.security.integrity;
  const [last] = verifications;
  return html`${last === undefined ? html`<p>${t.never}</p>` : verdict(texts, last)}
${
  last?.state !== 'running' &&
  html`<form method="post" action="${integrityPath}/verify">${csrfField}<button class="primary">${t.verify}</button></form>`
}
${verifications.length > 0 && verificationTable(texts, verifications)}`;
};

const verdict = (texts: Texts, { state, problem, events, unsigned }: Verification): Html => {
  const t = texts.security.integrity;
  switch (state) {
    case 'running':
      return html`<p class="message warn" role="status">${t.running(events)}</p>`;
    case 'interrupted':
      return html`<p class="message warn" role="status">${t.interrupted}</p>`;
    case 'sound':
      return message({ tone: 'good', text: t.sound(events, unsigned) });
    case 'broken':
      return message({ tone: 'bad', text: t.broken(placeOf(problem), problemText(texts, problem)) });
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

const verificationTable = (texts: Texts, verifications: readonly Verification[]): Html => {
  const t = texts.security.integrity;
  return table({
    caption: t.verifications,
    hasRowHeader: false,
    columns: [t.started, t.result, t.events, t.by],
    rows: verifications.map(({ started, state, events, actor }) => [
      time(started),
      t.states[state],
      events,
      html`<code>${actor}</code>`,
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
      time(head.opened),
      head.seq,
      time(head.signed),
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
