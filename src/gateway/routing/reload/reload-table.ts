/** Replaces the route table of a running gateway by the one that its file holds now. */
import type { Logger } from '#src/platform/log.ts';
import type { RouteTable } from '../../model/route.ts';
import { changesBetween, type TableChanges, type VersionedTable } from '../table-changes.ts';

/** `refused`: the earlier table stays in use, and `problems` says why. `version`: what is served now. */
export type Reloaded = {
  result: 'reloaded' | 'unchanged' | 'refused';
  version: string;
  problems: readonly string[];
};

export type TableReloader = {
  /**
   * One after the other. Never rejects. `actor`: who asked for it, for the audit. `isRepeat`: a refusal for the problems of the
   * last one is neither logged nor counted. `isUnwritten`: refused only because the audit could not be written, so that the
   * same file may be accepted later.
   */
  reload(actor: string, isRepeat?: boolean): Promise<Reloaded & { isUnwritten?: boolean }>;
  current(): VersionedTable;
  /** Why the file was refused when it was read last; empty: it was not. */
  problems(): readonly string[];
};

type ReloadDeps = {
  /** The table that is served from the start. */
  first: VersionedTable;
  /** Why its file was refused before. */
  problems: readonly string[];
  /** Reads and checks the file. */
  read: () => { found: VersionedTable; problems?: never } | { found?: never; problems: readonly string[] };
  /** Prepares the table and returns what makes it serve. Throws when it cannot be served. */
  prepare: (table: RouteTable) => { swap: () => void; discard: () => Promise<void> };
  /** Writes the change to the audit. It rejects when that fails, and the table is then not used. */
  audit: (actor: string, change: { from: string; to: string; changes: TableChanges }) => Promise<void>;
  count: (result: Reloaded['result']) => void;
  log: Logger;
};

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

export const createTableReloader = (deps: ReloadDeps): TableReloader => {
  const { log } = deps;
  let served = deps.first;
  let refused = deps.problems;
  let last: Promise<unknown> = Promise.resolve();

  const refuse = (actor: string, problems: readonly string[], isRepeat: boolean): Reloaded => {
    const isKnown = isRepeat && JSON.stringify(problems) === JSON.stringify(refused);
    refused = problems;
    if (!isKnown) {
      deps.count('refused');
      log.error(
        { actor, problems, routes_version: served.version },
        'the route table is not used; the earlier one stays in use',
      );
    }
    return { result: 'refused', version: served.version, problems };
  };

  const use = async (actor: string, found: VersionedTable, isRepeat: boolean): ReturnType<TableReloader['reload']> => {
    const { table, version } = found;
    const from = served.version;
    const prepared = deps.prepare(table);
    try {
      if (version !== from)
        await deps.audit(actor, { from, to: version, changes: changesBetween(served.table, table) });
    } catch (error) {
      await prepared.discard();
      return { ...refuse(actor, [messageOf(error)], isRepeat), isUnwritten: true };
    }
    // Also when only files that the table names have changed.
    prepared.swap();
    served = found;
    refused = [];
    const result = version === from ? 'unchanged' : 'reloaded';
    deps.count(result);
    if (result === 'unchanged') return { result, version, problems: [] };
    log.warn({ actor, from, routes_version: version }, 'a new route table is served');
    return { result, version, problems: [] };
  };

  const reload = async (actor: string, isRepeat: boolean): ReturnType<TableReloader['reload']> => {
    try {
      const { found, problems } = deps.read();
      return found === undefined ? refuse(actor, problems, isRepeat) : await use(actor, found, isRepeat);
    } catch (error) {
      return refuse(actor, [messageOf(error)], isRepeat);
    }
  };

  return {
    reload: (actor, isRepeat = false) => {
      const next = last.then(() => reload(actor, isRepeat));
      last = next;
      return next;
    },
    current: () => served,
    problems: () => refused,
  };
};
