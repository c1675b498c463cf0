/** The start page of security: what needs a decision, refusals and tokens per hour, unusual addresses, the last verification. */
import { dayMs } from '#src/platform/clock.ts';
import { type Html, html } from '../page/html.ts';
import type { View } from '../page/page.ts';
import type { CallerFigures } from '../ports/overview.ts';
import type { AuditChart, Verification } from '../ports/security.ts';
import { searchHref } from '../security/audit-filter.ts';
import { integrityPath } from '../security/integrity-page.ts';
import { badge, type Tone } from '../view/badge.ts';
import { timeChart, utcValue } from '../view/bar-chart.ts';
import { time } from '../view/time.ts';
import { callerLink, card, rowsOr } from './card.ts';

const chartsPath = '/panel/security/charts';
export const policyPath = '/panel/security/policy';
/** After this the audit should be verified again. */
const verifiedMsMax = 7 * dayMs;
/** More callers than this are not counted. */
export const dryRunsMax = 50;
const dryRunDays = 7;

/** The cards that read nothing from the audit, so that an open page may fetch them again by itself. */
export const liveSecurityCards = async (view: View): Promise<Html> => {
  const verification = await lastVerification(view);
  return html`${decisionsCard(view, await view.ports.overview.callers(), verification, await countDryRuns(view))}${verificationCard(view, verification)}`;
};

export const securityCards = async (view: View): Promise<Html> => {
  const { overview } = view.ports;
  const chart = await readChart(view);
  const verification = await lastVerification(view);
  const decisions = decisionsCard(view, await overview.callers(), verification, await countDryRuns(view));
  return html`<div class="figures">${decisions}${hourCards(view, chart)}${await addressesCard(view)}${verificationCard(view, verification)}</div>`;
};

/** The reading is recorded in the audit, as that of the page with the charts. */
export const readChart = ({ ports, actor, address }: View): Promise<AuditChart> =>
  ports.security.chart({ actor, address }, { days: 1, dimension: 'address' });

export const lastVerification = async ({ ports }: Pick<View, 'ports'>): Promise<Verification | undefined> =>
  (await ports.security.listVerifications(1))[0];

export const countDryRuns = async ({ ports }: Pick<View, 'ports'>): Promise<number> =>
  (await ports.security.listDryRuns({ days: dryRunDays, limit: dryRunsMax })).dryRuns.length;

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);

export const hourCards = ({ texts }: View, { total, from, bucketSeconds }: AuditChart): Html => {
  const { hours: t } = texts.overview;
  const charts = texts.security.charts;
  const one = (measure: 'refused' | 'issued', title: string, none: string): Html => {
    const numbers = total[measure];
    const count = sum(numbers);
    const label = charts.chartLabel(
      charts.measures[measure],
      count,
      Math.max(0, ...numbers),
      charts.hours(bucketSeconds / 3_600),
    );
    return card({
      id: measure,
      title,
      body:
        count === 0
          ? html`<p class="plain">${none}</p>`
          : html`${timeChart(numbers, { label, tone: measure, from, seconds: bucketSeconds, textOfValue: utcValue })}<p class="hint">${t.span}: ${count}</p>`,
      link: { path: chartsPath, label: t.show },
    });
  };
  return html`${one('refused', t.refused, t.noneRefused)}${one('issued', t.issued, t.noneIssued)}`;
};

export const addressesCard = async (view: View): Promise<Html> => {
  const t = view.texts.overview.addresses;
  const { overview } = view.ports;
  const rows = [
    ...(await overview.elsewhere()).map(
      (one) =>
        html`${callerLink(view, one)} <span class="hint">${t.elsewhere(one.calls)}${
          one.address !== null && html`, ${t.from} <a href="${searchHref({ address: one.address })}">${one.address}</a>`
        }</span>`,
    ),
    ...(await overview.onlyRefused()).map(
      ({ address, count }) =>
        html`<a href="${searchHref({ address, decision: 'deny' })}">${address}</a> <span class="hint">${t.onlyRefused(count)}</span>`,
    ),
  ];
  return card({
    id: 'addresses',
    title: t.title,
    body: rowsOr(rows, t.none, (row) => row),
    link: { path: `${chartsPath}?by=address`, label: t.show },
  });
};

const toneOf: Readonly<Record<Verification['state'], Tone>> = {
  sound: 'good',
  broken: 'bad',
  running: 'plain',
  interrupted: 'warn',
};

export const verificationCard = ({ texts }: View, last: Verification | undefined): Html => {
  const t = texts.overview.integrity;
  return card({
    id: 'integrity',
    title: t.title,
    body:
      last === undefined
        ? html`<p class="plain">${t.never}</p>`
        : html`<p>${badge(toneOf[last.state], t[last.state])} ${time(last.finished ?? last.started, 'relative')}
<span class="hint">${t.events(last.events)}</span></p>`,
    link: { path: integrityPath, label: t.show },
  });
};

const decisionsCard = (
  view: View,
  { quarantined }: CallerFigures,
  verification: Verification | undefined,
  dryRuns: number,
): Html => {
  const { decisions: t, atLeast } = view.texts.overview;
  const isLate = verification !== undefined && view.now.getTime() - verification.started.getTime() > verifiedMsMax;
  const rows = [
    ...(verification?.state === 'broken'
      ? [html`${badge('bad', view.texts.overview.integrity.broken)} <a href="${integrityPath}">${t.broken}</a>`]
      : []),
    ...quarantined.map(
      (one) => html`${callerLink(view, one)} ${t.quarantined} <span class="hint">${one.reason}</span>`,
    ),
    ...(dryRuns > 0 ? [html`<a href="${policyPath}">${t.dryRuns(atLeast(dryRuns, dryRunsMax))}</a>`] : []),
    ...(isLate ? [html`<a href="${integrityPath}">${t.verifyLate}</a>`] : []),
  ];
  return card({
    id: 'decisions',
    title: t.title,
    body: rowsOr(rows, t.none, (row) => row),
    link: { path: policyPath, label: t.show },
  });
};
