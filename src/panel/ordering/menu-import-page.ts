/** One import of a menu: what it changed, or as a plan would change, with names and prices before and after. */
import { type Answer, notFound, page } from '../page/answer.ts';
import { type Html, type HtmlValue, html } from '../page/html.ts';
import type { Page, View } from '../page/page.ts';
import { withQuery } from '../page/page-path.ts';
import { readCursor } from '../page/read-query.ts';
import type { MenuChange, MenuImport, OptionPrice } from '../ports/menu.ts';
import { requestedRestaurant, restaurantRoles } from '../restaurant/paths.ts';
import { badge } from '../view/badge.ts';
import { pager } from '../view/pager.ts';
import { table } from '../view/table.ts';
import { time } from '../view/time.ts';
import { importsPath } from './menu-imports-page.ts';
import { appliedLater, cut, importAuthor, importBadge, importKind, optionPrice, planState } from './menu-parts.ts';
import { fact, money } from './order-parts.ts';
import { pathOfImport, pathOfImports } from './paths.ts';

export const importPath = `${importsPath}/:import`;

const changesShown = 50;

const showImport = async (view: View): Promise<Answer> => {
  const found = await requestedRestaurant(view);
  if (found === undefined) return notFound();
  const { restuid, name } = found;
  const { menu, ordering } = view.ports;
  const uid = view.params.import ?? '';
  const shown = await menu.import(restuid, uid);
  if (shown === undefined) return notFound();
  const t = view.texts.menu;
  const author = await importAuthor(view, shown, (actor) => ordering.nameOf(restuid, actor));
  const meaning = shown.state === 'planned' ? planState(view, shown, (await menu.terms(restuid)).version) : shown.state;
  const isRevertible = await menu.canRevertTo(restuid, uid);
  return page({
    title: importKind(view, shown),
    body: html`<p><a href="${pathOfImports(restuid)}">${t.backToImports(name)}</a></p>
<p>${importBadge(view, shown)} ${t.meanings[meaning]}</p>
${isRevertible && html`<div class="row"><a class="button" href="${pathOfImport(restuid, uid, '/revert')}">${t.revertAsk}</a></div>`}
<dl class="facts">${fact(t.when, time(shown.created))}${fact(t.appliedAt, appliedLater(shown))}${fact(t.author, author)}${fact(t.pos, shown.posUid)}${fact(
      t.version,
      shown.version !== null &&
        (shown.version === shown.baseVersion
          ? t.sameVersion(shown.version)
          : t.versions(shown.baseVersion ?? 0, shown.version)),
    )}${meaning === 'planned' && shown.expires !== null && fact(t.expires, time(shown.expires))}${shown.state === 'running' && fact(t.progress, `${shown.percent} %`)}</dl>
${(shown.state === 'applied' || shown.state === 'planned') && html`<h2>${t.counts}</h2>${countTable(view, shown)}`}
${shown.state === 'applied' && (await changes(view, restuid, shown))}${shown.state === 'planned' && (await plan(view, restuid, uid))}`,
  });
};

const countTable = ({ texts }: View, { counts }: MenuImport): Html => {
  const t = texts.menu;
  return table({
    columns: [
      t.kind,
      { title: t.actions.created, kind: 'number' },
      { title: t.actions.updated, kind: 'number' },
      { title: t.actions.removed, kind: 'number' },
    ],
    rows: (['categories', 'products', 'options', 'values'] as const).map((kind) => [
      t.kinds[kind],
      counts[kind].created,
      counts[kind].updated,
      counts[kind].removed,
    ]),
  });
};

const changes = async (view: View, restuid: string, shown: MenuImport): Promise<Html> => {
  const t = view.texts.menu;
  const after = readCursor(view);
  const { currency } = await view.ports.menu.terms(restuid);
  const { items, next } = await view.ports.menu.changes(restuid, shown.uid, { after, limit: changesShown });
  const nothing =
    shown.version === shown.baseVersion ? t.noChange : after === undefined ? t.forgotten : view.texts.restaurant.noMore;
  return html`<h2>${t.changesTitle}</h2>${
    items.length === 0
      ? html`<p>${nothing}</p>`
      : table({
          columns: [t.element, t.action, { title: t.price, kind: 'number' }, t.alsoChanged],
          rows: items.map((change) => changeRow(view, currency, change)),
        })
  }${pager(view, { after, next, pathOf: (cursor) => withQuery(pathOfImport(restuid, shown.uid), { after: cursor }) })}`;
};

const changeRow = (
  view: View,
  currency: string,
  { kind, action, name, price, members, options }: MenuChange,
): HtmlValue[] => {
  const t = view.texts.menu;
  const priced = (amount: number | null): string | null => (amount === null ? null : money(view, amount, currency));
  return [
    html`${fromTo(view, name.before === null ? null : cut(name.before), name.after === null ? null : cut(name.after))}<br><span class="hint">${t.kindOf[kind]}</span>`,
    badge(action === 'removed' ? 'bad' : action === 'created' ? 'good' : 'plain', t.did[action]),
    fromTo(view, priced(price.before), priced(price.after)) ?? '–',
    members.length === 0
      ? '–'
      : html`${members.map((member) => memberName(view, member)).join(', ')}${optionChanges(view, currency, options)}`,
  ];
};

const optionsShown = 20;

const optionChanges = (view: View, currency: string, options: MenuChange['options']): Html | false => {
  const t = view.texts.menu;
  const priced = (price: OptionPrice | null): string | null => price && optionPrice(view, price, currency);
  const more = options.length - optionsShown;
  return (
    options.length > 0 &&
    html`${options
      .slice(0, optionsShown)
      .map(
        ({ option, value, before, after }) =>
          html`<br>${cut(option)}, ${cut(value)}: ${fromTo(view, priced(before), priced(after))}${before === null && html` <span class="hint">${t.newValue}</span>`}${after === null && html` <span class="hint">${t.removedValue}</span>`}`,
      )}${more > 0 && html`<br><span class="hint">${t.moreValues(more)}</span>`}`
  );
};

/** One value, or both with an arrow that a screen reader reads as a word. */
const fromTo = ({ texts }: View, before: string | null, after: string | null): HtmlValue =>
  before === null || after === null || before === after
    ? (after ?? before)
    : html`<del>${before}</del> <span aria-hidden="true">→</span><span class="visually-hidden">${texts.menu.becomes}</span> <ins>${after}</ins>`;

const memberName = ({ texts }: View, member: string): string => {
  const known = texts.menu.members;
  return Object.hasOwn(known, member) ? known[member as keyof typeof known] : member;
};

/** The report of a plan has amounts as decimal numbers of the API. */
const amountOf = (view: View, currency: string, member: string, text: string): string =>
  (member === 'price' || member === 'price_operand') && /^\d+(\.\d+)?$/.test(text)
    ? money(view, Math.round(Number(text) * 100), currency)
    : text;

const plan = async (view: View, restuid: string, uid: string): Promise<Html> => {
  const t = view.texts.menu;
  const { currency } = await view.ports.menu.terms(restuid);
  const found = await view.ports.menu.plan(restuid, uid, changesShown);
  const shown =
    found === undefined
      ? html`<p>${t.planTooLong}</p>`
      : found.total === 0
        ? html`<p>${t.noChange}</p>`
        : html`${table({
            columns: [t.element, t.action, t.alsoChanged],
            rows: found.items.map(({ kind, action, id, changes: each }) => [
              html`<code>${cut(id)}</code><br><span class="hint">${t.kindOf[kind]}</span>`,
              t.did[action],
              each.length === 0
                ? '–'
                : each.map(
                    ({ member, before, after }, index) =>
                      html`${index > 0 && html`<br>`}${memberName(view, member)}: ${fromTo(view, amountOf(view, currency, member, before), amountOf(view, currency, member, after))}`,
                  ),
            ]),
          })}${found.total > found.items.length && html`<p class="hint">${t.morePlanned(found.total - found.items.length)}</p>`}`;
  return html`<h2>${t.planTitle}</h2>${shown}`;
};

export const menuImportPages: readonly Page[] = [
  { method: 'GET', path: importPath, roles: restaurantRoles, handle: showImport },
];
