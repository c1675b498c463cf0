/** The ports of the panel's pages about a menu and its imports. */
import { appendChange } from '#src/gateway/index.ts';
import { createStaffMenus, listLocations, requireRestaurant } from '#src/ordering/index.ts';
import type { MenuPorts } from '#src/panel/index.ts';
import type { PortDeps } from './port-deps.ts';

/** A longer plan would take too much time and memory for one page. */
const planCharactersMax = 2_000_000;

export const createMenuPorts = ({ installation }: PortDeps): MenuPorts => {
  const { store, box, clock, log } = installation;
  const menus = createStaffMenus(store.db, log);
  return {
    terms: async (restuid) => {
      const [{ currency }, version, locations] = await Promise.all([
        requireRestaurant(store.db, restuid),
        menus.version(restuid),
        listLocations(store.db, restuid, { visibleOnly: false }),
      ]);
      return { currency, version, locations };
    },
    categories: async (restuid, search) => shownList(await menus.categories(restuid, search), shownCategory),
    category: async (restuid, uid) => {
      const category = await menus.category(restuid, uid);
      return category && shownCategory({ ...category, cursor: '' });
    },
    products: async (restuid, uid, search) => {
      const category = await menus.category(restuid, uid);
      if (category === undefined) return { items: [], next: undefined };
      return shownList(await menus.products(restuid, category, search), shownProduct);
    },
    imports: async (restuid, search) => shownList(await menus.imports(restuid, search), shownImport),
    import: async (restuid, uid) => {
      const record = await menus.import(restuid, uid);
      return record && shownImport(record);
    },
    latestChange: async (restuid) => {
      const record = await menus.latestChange(restuid);
      return record && shownImport(record);
    },
    canRevertTo: async (restuid, uid) => {
      const record = await menus.import(restuid, uid);
      return record !== undefined && menus.canRevertTo(restuid, record);
    },
    changes: async (restuid, uid, search) => {
      const record = await menus.import(restuid, uid);
      if (record === undefined) return { items: [], next: undefined };
      return shownList(await menus.changes(restuid, record, search), (change) => change);
    },
    plan: async (restuid, uid, limit) => {
      const plan = await menus.plan(restuid, uid, planCharactersMax);
      return plan && { items: plan.items.slice(0, limit).map(shownItem), total: plan.items.length };
    },
    revert: async (actor, restuid, importUid, seenVersion) => {
      const revert = { restuid, importUid, seenVersion, actor, readNow: () => clock.now() };
      const { uid } = await menus.revert(revert, (tx, { version, clientId }) =>
        appendChange(tx, box, clock.now(), {
          action: 'tenant.changed',
          actor,
          tenants: [restuid],
          details: JSON.stringify({ operation: 'menu/revert', import: importUid, owner: clientId, version }),
        }),
      );
      return uid;
    },
  };
};

type Menus = ReturnType<typeof createStaffMenus>;
type ItemOf<List extends 'categories' | 'products' | 'imports'> = Awaited<ReturnType<Menus[List]>>['items'][number];
type PlannedItem = NonNullable<Awaited<ReturnType<Menus['plan']>>>['items'][number];

const shownList = <T extends { cursor: string }, S>(
  { items, hasMore }: { items: readonly T[]; hasMore: boolean },
  shown: (item: T) => S,
): { items: S[]; next: string | undefined } => ({
  items: items.map(shown),
  next: hasMore ? items.at(-1)?.cursor : undefined,
});

const shownCategory = ({
  uid,
  name,
  hidden,
  subrestaurant_uids,
  description,
  products_count,
  cursor,
}: ItemOf<'categories'>) => ({
  ...{ uid, name, hidden, description, cursor },
  locations: subrestaurant_uids,
  onSale: products_count,
});

const shownProduct = ({ product, options, cursor }: ItemOf<'products'>) => ({
  uid: product.uid,
  name: product.name,
  hidden: product.hidden,
  locations: product.subrestaurant_uids,
  ingredients: product.ingredients,
  price: product.price,
  prices: product.prices_table,
  options: options.map(({ name, hidden, type, min_selectable: least, max_selectable, option_values }) => ({
    // A single option takes one value, also where its bound is 0.
    ...{ name, hidden, least, most: type === 'single' ? 1 : max_selectable },
    values: option_values.map(({ name, hidden, price_operator: operator, price_operand: amount }) => ({
      ...{ name, hidden, operator, amount },
    })),
  })),
  cursor,
});

const shownImport = (record: Omit<ItemOf<'imports'>, 'cursor'>) => {
  const { uid, kind, state, created, applied, actor, posUid, version, baseVersion, percent, counts, hasPlan } = record;
  const { categories, products, options, option_values: values } = counts;
  return {
    ...{ uid, kind, state, created, applied, actor, posUid, version, baseVersion, percent, hasPlan },
    mode: record.updateMode,
    clientId: record.clientId === 'panel' ? null : record.clientId,
    expires: record.planExpires,
    counts: { categories, products, options, values },
  };
};

const shownItem = ({ kind, action, ext_id, uid, changes }: PlannedItem) => ({
  kind,
  // The report lists no unchanged elements.
  action: action === 'unchanged' ? ('updated' as const) : action,
  id: ext_id ?? uid,
  changes: changes.map(({ field, from, to }) => ({ member: field, before: inWords(from), after: inWords(to) })),
});

const wordsMax = 80;

const inWords = (value: unknown): string => {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  return text.length > wordsMax ? `${text.slice(0, wordsMax)}…` : text;
};
