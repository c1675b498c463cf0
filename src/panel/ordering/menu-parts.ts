/** Parts of the pages about a menu: products, options, states, and what an import did. */
import { type Html, type HtmlValue, html } from '../page/html.ts';
import type { View } from '../page/page.ts';
import type { MenuCategory, MenuImport, MenuOption, MenuProduct, MenuTerms, OptionPrice } from '../ports/menu.ts';
import { badge, type Tone } from '../view/badge.ts';
import { table } from '../view/table.ts';
import { time } from '../view/time.ts';
import { money } from './order-parts.ts';

const textMax = 160;
/** Of one product; more are counted. */
const valuesMax = 40;

/** A long text of a menu would fill the page. */
export const cut = (text: string): string => (text.length > textMax ? `${text.slice(0, textMax)}…` : text);

type Offer = { hidden: boolean; locations: readonly string[] };

/** Hidden or not, and the locations that sell it where not all do. `category`: that of a product, whose limits hold too. */
export const availability = (
  { texts }: Pick<View, 'texts'>,
  { locations: all }: MenuTerms,
  offer: Offer,
  category: Offer = { hidden: false, locations: [] },
): HtmlValue => {
  const t = texts.menu;
  if (offer.hidden) return badge('plain', t.hidden);
  if (category.hidden) return badge('plain', t.categoryHidden);
  const limits = [offer.locations, category.locations].filter(({ length }) => length > 0);
  if (limits.length === 0) return t.onSale;
  const selling = (limits[0] ?? []).filter((uid) => limits.every((uids) => uids.includes(uid)));
  if (selling.length === 0) return badge('plain', t.nowhere);
  const names = selling.map((uid) => all.find((location) => location.uid === uid)?.name ?? uid);
  return t.onlyAt(cut(names.join(', ')));
};

/** Nothing for a hidden category, which sells none of its products. */
export const onSaleCount = ({ texts }: Pick<View, 'texts'>, { hidden, onSale }: MenuCategory): Html | false =>
  !hidden && html`<span class="hint">${texts.menu.onSaleCount(onSale)}</span>`;

/** A row for each product. The options unfold, so a page without script has all of them. */
export const productTable = (
  view: View,
  terms: MenuTerms,
  category: MenuCategory,
  products: readonly MenuProduct[],
): Html => {
  const t = view.texts.menu;
  return table({
    columns: [t.product, { title: t.price, kind: 'number' }, t.options, t.state],
    rows: products.map((product) => productRow(view, terms, category, product)),
  });
};

const productRow = (view: View, terms: MenuTerms, category: MenuCategory, product: MenuProduct): HtmlValue[] => {
  const { currency } = terms;
  const others = Object.entries(product.prices);
  const { methods } = view.texts.ordering;
  return [
    html`${cut(product.name)}${product.ingredients !== null && html`<br><span class="hint">${cut(product.ingredients)}</span>`}`,
    html`${money(view, product.price, currency)}${others.map(
      ([code, price]) =>
        html`<br><span class="hint">${Object.hasOwn(methods, code) ? methods[code as keyof typeof methods] : code}</span> ${money(view, price, currency)}`,
    )}`,
    optionsOf(view, currency, product.options),
    availability(view, terms, product, category),
  ];
};

/** What a value adds to the price, takes from it, or makes it. */
export const optionPrice = (view: View, { operator, amount }: OptionPrice, currency: string): string =>
  `${operator === '-' ? '−' : operator}${money(view, amount, currency)}`;

const optionsOf = (view: View, currency: string, options: readonly MenuOption[]): HtmlValue => {
  const t = view.texts.menu;
  if (options.length === 0) return '–';
  let left = valuesMax;
  const shown = options.slice(0, valuesMax).map((option) => {
    const values = option.values.slice(0, left);
    left -= values.length;
    const rest = option.values.length - values.length;
    const limits = t.choose(option.least, option.most);
    return html`<p><strong>${cut(option.name)}</strong> <span class="hint">${limits}</span>${option.hidden && html` ${badge('plain', t.hidden)}`}</p><ul>${values.map(
      ({ name, operator, amount, hidden }) =>
        html`<li>${cut(name)}${(operator === '=' || amount !== 0) && html` <span class="hint">${optionPrice(view, { operator, amount }, currency)}</span>`}${hidden && html` ${badge('plain', t.hidden)}`}</li>`,
    )}${rest > 0 && html`<li class="hint">${t.moreValues(rest)}</li>`}</ul>`;
  });
  const names = cut(options.map(({ name }) => name).join(', '));
  return html`<details><summary>${names}</summary>${shown}${options.length > shown.length && html`<p class="hint">${t.moreOptions(options.length - shown.length)}</p>`}</details>`;
};

const tones: Readonly<Record<MenuImport['state'], Tone>> = {
  planned: 'plain',
  running: 'warn',
  applied: 'good',
  failed: 'bad',
};

/** A plan whose time is over can be applied no more. */
const isOver = ({ now }: Pick<View, 'now'>, { state, expires }: MenuImport): boolean =>
  state === 'planned' && expires !== null && expires <= now;

export const importBadge = (view: Pick<View, 'texts' | 'now'>, shown: MenuImport): Html => {
  const { expired, states } = view.texts.menu;
  return badge(tones[shown.state], isOver(view, shown) ? expired : states[shown.state]);
};

/**
 * A plan belongs to one version of the menu and to the elements of one point of sale, so a change of either ends it as its time
 * does.
 */
export const planState = (
  view: Pick<View, 'now'>,
  shown: MenuImport,
  menuVersion: number,
): 'planned' | 'expired' | 'overtaken' | 'outdated' => {
  if (isOver(view, shown)) return 'expired';
  if (shown.baseVersion !== menuVersion) return 'overtaken';
  return shown.hasPlan ? 'planned' : 'outdated';
};

/** A revert, or an import with its mode. */
export const importKind = ({ texts }: Pick<View, 'texts'>, { kind, mode }: MenuImport): string =>
  kind === 'revert' ? texts.menu.revert : mode === null ? texts.menu.import : texts.menu.modes[mode];

/** When it changed the menu, where that is not when it began: a plan is applied later. */
export const appliedLater = ({ created, applied }: MenuImport): Html | false =>
  applied.getTime() !== created.getTime() && time(applied);

/** The user who made it, or else the client. `nameOf`: the port's, or one that remembers names. */
export const importAuthor = async (
  { texts }: Pick<View, 'texts'>,
  { actor, clientId }: MenuImport,
  nameOf: (actor: string) => Promise<string | undefined>,
): Promise<string> => {
  if (actor !== null) return (await nameOf(actor)) ?? actor;
  if (clientId === null) return texts.menu.noClient;
  return (await nameOf(`api_client:${clientId}`)) ?? clientId;
};

/** In one line, without what did not happen. */
export const countsLine = ({ texts }: Pick<View, 'texts'>, { counts, state }: MenuImport): string => {
  const t = texts.menu;
  if (state === 'failed' || state === 'running') return '–';
  const parts = (['categories', 'products', 'options', 'values'] as const).flatMap((kind) => {
    const { created, updated, removed } = counts[kind];
    const numbers = [created > 0 && `+${created}`, updated > 0 && `~${updated}`, removed > 0 && `−${removed}`];
    const shown = numbers.filter((number) => number !== false);
    return shown.length === 0 ? [] : [`${t.kinds[kind]} ${shown.join(' ')}`];
  });
  return parts.length === 0 ? t.noChange : parts.join(' · ');
};
