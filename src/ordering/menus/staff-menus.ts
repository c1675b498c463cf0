/**
 * Menus for staff: the menu as it is sold, the history of imports, what each of them changed, and the revert of the API. A member of the
 * staff is checked by the panel, and may restore the elements of any client.
 */
import type { Kysely } from 'kysely';
import { Fault } from '#src/contract/fault.ts';
import { readPlace, writePlace } from '#src/platform/db/age-pages.ts';
import { firstItems, type Key } from '#src/platform/db/bounded-list.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import type { Logger } from '#src/platform/log.ts';
import { createTurns } from '#src/platform/sharing/semaphore.ts';
import { requireRestaurant } from '../restaurants/require-restaurant.ts';
import { openImport } from './import/import-record.ts';
import { isSame } from './import/plan/resolve-members.ts';
import type { Finding, ReportItem } from './import/report/report.ts';
import { revertMenu } from './import/revert-menu.ts';
import { type ChangedRow, listChanges } from './import/write/change-list-store.ts';
import {
  findImportByUid,
  findImportOfVersion,
  type ListedImport,
  listImports,
} from './import/write/import-list-store.ts';
import { type ImportRecord, readReport, reportSize } from './import/write/record-store.ts';
import { listRevertible } from './import/write/undo-store.ts';
import type { ProductOnSale } from './menu/menu.ts';
import { listCategories, listProducts } from './menu/menu-list-store.ts';
import { findCategory, type ListedCategory, menuVersion } from './menu/menu-store.ts';
import { type OptionPriceChange, optionPriceChanges } from './option-prices.ts';

type Paging = { after: string | undefined; limit: number };
/** `cursor`: behind an item. */
type Items<T> = { items: (T & { cursor: string })[]; hasMore: boolean };

/** A changed element. Amounts are hundredths. */
type MenuChange = {
  kind: 'category' | 'product';
  uid: string;
  action: 'created' | 'updated' | 'removed';
  name: { before: string | null; after: string | null };
  price: { before: number | null; after: number | null };
  /** Names of further members that differ. */
  members: string[];
  /** Of an updated element. */
  options: OptionPriceChange[];
};

type Plan = { items: readonly ReportItem[]; warnings: readonly Finding[] };

type RevertByStaff = {
  restuid: string;
  /** The import after which the menu is wanted as it was. */
  importUid: string;
  /** The version of the menu that the user saw; any other one is a conflict. */
  seenVersion: number;
  /** `panel:` and the id of the user. */
  actor: string;
  /** Read after the wait for a turn. */
  readNow: () => Date;
};

type StaffMenus = {
  version(restuid: string): Promise<number>;
  /** By position, hidden ones too. */
  categories(restuid: string, paging: Paging): Promise<Items<ListedCategory>>;
  category(restuid: string, uid: string): Promise<ListedCategory | undefined>;
  /** Those of one category by position, hidden ones too. */
  products(
    restuid: string,
    category: Pick<ListedCategory, 'uid' | 'position'>,
    paging: Paging,
  ): Promise<Items<ProductOnSale>>;
  /** Running ones first, then the latest. */
  imports(restuid: string, paging: Paging): Promise<Items<ListedImport>>;
  import(restuid: string, uid: string): Promise<ListedImport | undefined>;
  /** The import or revert that made the present version. */
  latestChange(restuid: string): Promise<ListedImport | undefined>;
  /** True when the menu of this import can be restored, and differs from the present one. */
  canRevertTo(restuid: string, record: ImportRecord): Promise<boolean>;
  /** What an applied import changed. Empty once the states that it replaced were deleted. */
  changes(restuid: string, record: ImportRecord, paging: Paging): Promise<Items<MenuChange>>;
  /** What a plan would change; undefined when it is longer than `charactersMax`, or has no report. */
  plan(restuid: string, uid: string, charactersMax: number): Promise<Plan | undefined>;
  /**
   * `note` runs in the transaction. Throws NOT_FOUND, CONFLICT when the menu changed since the user saw it, and OVERLOADED when earlier
   * ones are still running.
   */
  revert(
    revert: RevertByStaff,
    note: (tx: Kysely<unknown>, record: ImportRecord) => Promise<void>,
  ): Promise<ImportRecord>;
};

/**
 * A revert holds a connection of the pool of the panel, on which all other requests of the process depend, and waits with it for an
 * import of the menu.
 */
const turnBounds = {
  ofEach: { atOnceMax: 1, waitingMax: 8 },
  ofAll: { atOnceMax: 3, waitingMax: 32 },
  waitMsMax: 20_000,
};

export const createStaffMenus = (db: Kysely<unknown>, log: Logger): StaffMenus => ({
  ...reads(db),
  revert: createRevert(db, log),
});

const reads = (db: Kysely<unknown>): Omit<StaffMenus, 'revert'> => ({
  version: (restuid) => menuVersion(db, restuid),
  categories: async (restuid, { after, limit }) => {
    const place = readPosition(after);
    const listed = await listCategories(db, restuid, { visibleOnly: false }, pageAfter(limit, place));
    return {
      items: listed.rows.map((row) => ({ ...row, cursor: writePosition(row) })),
      hasMore: listed.more,
    };
  },
  category: (restuid, uid) => findCategory(db, restuid, uid),
  products: async (restuid, { uid, position }, { after, limit }) => {
    const place = readPosition(after);
    const query = pageAfter(limit, place && [position, uid, ...place]);
    const listed = await listProducts(db, restuid, { visibleOnly: false, categoryUid: uid }, query);
    return {
      items: listed.rows.map((row) => ({ ...row, cursor: writePosition(row.product) })),
      hasMore: listed.more,
    };
  },
  imports: async (restuid, { after, limit }) => {
    const listed = await listImports(db, restuid, null, pageAfter(limit, readAge(after)));
    const items = listed.rows.map(({ isRunning, ...row }) => ({ ...row, cursor: writeAge(isRunning, row) }));
    return { items, hasMore: listed.more };
  },
  import: (restuid, uid) => findImportByUid(db, restuid, uid),
  latestChange: async (restuid) => findImportOfVersion(db, restuid, await menuVersion(db, restuid)),
  canRevertTo: async (restuid, record) => {
    const versions = await listRevertible(db, restuid, ownerOf(record));
    return madeVersion(record) && versions.includes(record.version ?? 0) && versions[0] !== record.version;
  },
  changes: async (restuid, record, { after, limit }) => {
    if (!madeVersion(record)) return { items: [], hasMore: false };
    const query = { restuid, owner: ownerOf(record), version: record.version ?? 0 };
    const { rows, more } = await listChanges(db, { ...query, after: readElement(after), limit });
    return { items: rows.map((row) => ({ ...changeOf(row), cursor: `${row.kind}.${row.uid}` })), hasMore: more };
  },
  plan: async (restuid, uid, charactersMax) => {
    if ((await reportSize(db, restuid, uid)) > charactersMax) return undefined;
    const report = await readReport(db, restuid, uid);
    return report === undefined ? undefined : (JSON.parse(report) as Plan);
  },
});

const createRevert = (db: Kysely<unknown>, log: Logger): StaffMenus['revert'] => {
  const turns = createTurns(turnBounds);
  const { signal } = new AbortController();
  return async (revert, note) => {
    const { restuid, actor } = revert;
    await requireRestaurant(db, restuid);
    const release = await turns.acquire({ each: restuid, sharer: actor }, signal);
    if (release === undefined) throw new Fault('OVERLOADED', 'Earlier reverts are still running; try again shortly');
    return revertNow({ db, log }, revert, note).finally(release);
  };
};

const revertNow = async (
  { db, log }: { db: Kysely<unknown>; log: Logger },
  { restuid, importUid, seenVersion, actor, readNow }: RevertByStaff,
  note: Parameters<StaffMenus['revert']>[1],
): Promise<ImportRecord> => {
  const target = await findImportByUid(db, restuid, importUid);
  if (target === undefined || target.version === null) throw new Fault('NOT_FOUND', 'No such version');
  const { version } = target;
  const owner = ownerOf(target);
  const now = readNow();
  const opening = { restuid, owner, kind: 'revert', posUid: null, updateMode: null, actor, now } as const;
  const open = openImport({ db, log }, opening);
  try {
    return await inTransaction(db, async (tx) => {
      const outcome = await revertMenu(tx, { restuid, owner, version, progress: open.progress, now });
      if (outcome === undefined) throw new Fault('NOT_FOUND', 'No such version');
      if (outcome.baseVersion !== seenVersion) throw new Fault('CONFLICT', 'The menu has changed');
      const { record } = await open.finish(tx, outcome);
      await note(tx, record);
      return record;
    });
  } catch (error) {
    await (error instanceof Fault ? open.discard() : open.fail());
    throw error;
  }
};

const ownerOf = ({ clientId }: Pick<ImportRecord, 'clientId'>): string | null =>
  clientId === 'panel' ? null : clientId;

const madeVersion = ({ state, version, baseVersion }: ImportRecord): boolean =>
  state === 'applied' && version !== null && version !== baseVersion;

const pageAfter = (limit: number, after: Key | undefined) => ({ ...firstItems(limit), ...(after && { after }) });

const writePosition = ({ position, uid }: { position: number; uid: string }): string => `${position}.${uid}`;

/** A larger number is no integer of the database. */
const positionMax = 2_147_483_647;

/** Undefined for an invalid cursor; the list then starts at its beginning. */
const readPosition = (text: string | undefined): [number, string] | undefined => {
  const [, position, uid] = /^(-?\d{1,10})\.([\w-]{1,80})$/.exec(text ?? '') ?? [];
  const isPlace = uid !== undefined && Math.abs(Number(position)) <= positionMax;
  return isPlace ? [Number(position), uid] : undefined;
};

const writeAge = (isRunning: boolean, { created, uid }: ImportRecord): string =>
  `${isRunning ? 1 : 0}.${writePlace({ created, id: uid })}`;

const readAge = (text: string | undefined): Key | undefined => {
  const [, running, age] = /^([01])\.(.+)$/.exec(text ?? '') ?? [];
  const place = readPlace(age);
  return place && [Number(running), place.created.toISOString(), place.id];
};

const readElement = (text: string | undefined): Pick<ChangedRow, 'kind' | 'uid'> | undefined => {
  const [, kind, uid] = /^(category|product)\.([\w-]{1,80})$/.exec(text ?? '') ?? [];
  return uid === undefined ? undefined : { kind: kind === 'category' ? 'category' : 'product', uid };
};

/** Columns that readers of the menu do not see, and those with places of their own in a change. */
const unlisted: ReadonlySet<string> = new Set([
  ...['restuid', 'uid', 'owner_client', 'ext_id', 'removed_at', 'copied_options', 'offline_uid'],
  ...['name', 'price'],
]);

const changeOf = ({ kind, uid, before, after }: ChangedRow): MenuChange => {
  const was = before?.removed_at === null ? before : null;
  const is = after?.removed_at === null ? after : null;
  const members = was === null || is === null ? [] : Object.keys(is).filter((name) => !unlisted.has(name));
  return {
    kind,
    uid,
    action: was === null ? 'created' : is === null ? 'removed' : 'updated',
    name: { before: was?.name ?? null, after: is?.name ?? null },
    price: { before: was?.price ?? null, after: is?.price ?? null },
    members: members.filter((name) => !isSame(was?.[name], is?.[name])),
    options: was === null || is === null ? [] : optionPriceChanges(was.options ?? [], is.options ?? []),
  };
};
