/** The start page of administrators: everything in short, the running processes and their versions. */
import { type Html, html } from '../page/html.ts';
import type { View } from '../page/page.ts';
import type { CallerFigures, InstallationFigures, ProgramState } from '../ports/overview.ts';
import { badge } from '../view/badge.ts';
import { table } from '../view/table.ts';
import { card } from './card.ts';
import { endingCard, failingCard } from './owner-cards.ts';
import {
  addressesCard,
  countDryRuns,
  dryRunsMax,
  hourCards,
  lastVerification,
  policyPath,
  readChart,
  verificationCard,
} from './security-cards.ts';
import { clientsPath } from './support-cards.ts';

const restaurantsPath = '/panel/support/restaurants';
/** The lists of callers end here. */
const callersMax = 5;

export const adminCards = async (view: View): Promise<Html> => {
  const { overview } = view.ports;
  const chart = await readChart(view);
  const addresses = await addressesCard(view);
  const verification = verificationCard(view, await lastVerification(view));
  return html`<div class="figures">${await figureCards(view)}${hourCards(view, chart)}${addresses}${verification}</div>${programCard(view, await overview.program())}`;
};

/** The cards that read nothing from the audit, so that an open page may fetch them again by itself. */
export const liveAdminCards = async (view: View): Promise<Html> => {
  const { overview } = view.ports;
  return html`${await figureCards(view)}${verificationCard(view, await lastVerification(view))}${programCard(view, await overview.program())}`;
};

const figureCards = async (view: View): Promise<Html> => {
  const { overview } = view.ports;
  const { failing, ending, orders, hasMoreOrders, looked, leavesOutSandboxes } = await overview.installation();
  const t = view.texts.overview;
  const notes = [looked !== undefined && t.lookedNewest(looked), leavesOutSandboxes && t.noSandboxes];
  const note = notes.filter((text) => text !== false).join(' ') || undefined;
  const attention = { failing, ending, path: restaurantsPath, note };
  const short = shortCard(
    view,
    { ...(await overview.callers()), orders, hasMoreOrders, note },
    await countDryRuns(view),
  );
  return html`${short}${failingCard(view, attention)}${endingCard(view, attention)}`;
};

type Short = CallerFigures & Pick<InstallationFigures, 'orders' | 'hasMoreOrders'> & { note: string | undefined };

const shortCard = ({ texts }: View, figures: Short, dryRuns: number): Html => {
  const { short: t, atLeast } = texts.overview;
  const row = (label: string, count: string): Html => html`<dt>${label}</dt><dd>${count}</dd>`;
  return card({
    id: 'short',
    title: t.title,
    body: html`<dl class="facts">${(['quarantined', 'failing', 'limited'] as const).map((name) =>
      row(t[name], atLeast(figures[name].length, callersMax)),
    )}<dt><a href="${policyPath}">${t.dryRuns}</a></dt><dd>${atLeast(dryRuns, dryRunsMax)}</dd>${row(t.orders, `${figures.orders}${figures.hasMoreOrders ? '+' : ''}`)}</dl>${figures.note !== undefined && html`<p class="hint">${figures.note}</p>`}`,
    link: { path: clientsPath, label: t.show },
  });
};

const programCard = ({ texts }: View, { version, processes, gateways }: ProgramState): Html => {
  const t = texts.overview.program;
  const tables = new Map(gateways.map((one) => [one.gateway, one]));
  return card({
    id: 'program',
    title: t.title,
    body: html`<p>${t.release(version)}</p>${
      processes.length === 0
        ? html`<p class="plain">${t.none}</p>`
        : table({
            columns: [t.process, t.role, t.version, t.table],
            rows: processes.map(({ name, role, version: release }) => {
              const served = tables.get(name);
              return [
                html`<code>${name}</code>`,
                role,
                release === null ? t.older : release === version ? release : html`${release} ${badge('warn', t.other)}`,
                served === undefined
                  ? '–'
                  : html`<code>${served.version}</code>${served.isRefused && html` ${badge('bad', t.refused)}`}`,
              ];
            }),
          })
    }<p class="hint">${t.hint}</p>`,
    link: { path: '/docs/operate', label: t.show },
  });
};
