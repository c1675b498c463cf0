/** Verification of the audit, the signed heads of its chains, and the export. */

import { live } from '../live/live.ts';
import { type Answer, page, redirect } from '../page/answer.ts';
import { type Html, html } from '../page/html.ts';
import type { View } from '../page/page.ts';
import type { SignedHead, Verification } from '../ports/ports.ts';
import type { Texts } from '../texts/en.ts';
import { message } from '../view/layout.ts';
import { time } from '../view/time.ts';
import { exportLinks } from './export-links.ts';

const integrityPath = '/panel/security/integrity';
const verificationsShown = 5;
const headsShown = 20;
/** Each process signs its head every 15 seconds. */
const lateMs = 5 * 60_000;

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
<div id="verification" ${live('verification', path, 'security-integrity')}>${verification(view, verifications)}</div>
<h2>${t.heads}</h2>
<p class="hint">${t.headsIntro}</p>
${headTable(texts, heads.slice(0, headsShown), now)}
<nav class="row pager" aria-label="${texts.security.pages}">${before !== undefined && html`<a class="button" href="${integrityPath}">${texts.security.newest}</a>`}${
      heads.length > headsShown &&
      html`<a class="button" rel="next" href="${integrityPath}?before=${heads[headsShown - 1]?.chain}">${texts.security.older}</a>`
    }</nav>
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
      return message({ tone: 'bad', text: t.broken(problem?.place ?? '', problemText(texts, problem)) });
  }
};

const problemText = ({ security: { integrity: t } }: Texts, problem: Verification['problem']): string =>
  problem?.kind === undefined
    ? t.problems.other
    : t.problems[problem.kind] + (problem.upTo ? t.upTo(problem.upTo) : '');

const verificationTable = (texts: Texts, verifications: readonly Verification[]): Html => {
  const t = texts.security.integrity;
  return html`<table class="stack">
<caption>${t.verifications}</caption>
<thead><tr><th scope="col">${t.started}</th><th scope="col">${t.result}</th><th scope="col">${t.events}</th><th scope="col">${t.by}</th></tr></thead>
<tbody>${verifications.map(
    ({ started, state, events, actor }) => html`<tr><td data-label="${t.started}">${time(started)}</td>
<td data-label="${t.result}">${t.states[state]}</td><td data-label="${t.events}">${events}</td><td data-label="${t.by}"><code>${actor}</code></td></tr>`,
  )}</tbody></table>`;
};

export const verifyNow = async ({ ports, actor, address, texts }: View): Promise<Answer> => {
  const t = texts.security.integrity;
  const started = await ports.security.startVerification({ actor, address });
  return redirect(integrityPath, { tone: 'good', text: started ? t.begun : t.runsAlready });
};

const headTable = (texts: Texts, heads: readonly SignedHead[], now: Date): Html => {
  const t = texts.security.integrity;
  return html`<table class="stack">
<caption>${texts.security.newestFirst}</caption>
<thead><tr><th scope="col">${t.chain}</th><th scope="col">${t.process}</th><th scope="col">${t.opened}</th><th scope="col">${t.events}</th><th scope="col">${t.signed}</th><th scope="col">${t.state}</th></tr></thead>
<tbody>${heads.map(
    (head) => html`<tr><td data-label="${t.chain}">${head.chain}</td>
<td data-label="${t.process}"><code>${head.process}</code></td><td data-label="${t.opened}">${time(head.opened)}</td>
<td data-label="${t.events}">${head.events}</td><td data-label="${t.signed}">${time(head.signed)}</td>
<td data-label="${t.state}">${headState(texts, head, now)}</td></tr>`,
  )}</tbody></table>`;
};

const changesProcess = 'changes';

/** The chain "changes" is signed with each change. Other chains are signed regularly while their process runs. */
const headState = (texts: Texts, { process, closed, signed }: SignedHead, now: Date): Html => {
  const t = texts.security.integrity;
  if (closed) return html`<span class="badge">${t.closed}</span>`;
  if (process !== changesProcess && now.getTime() - signed.getTime() > lateMs)
    return html`<span class="badge warn">${t.silent}</span>`;
  return html`<span class="badge good">${t.open}</span>`;
};
