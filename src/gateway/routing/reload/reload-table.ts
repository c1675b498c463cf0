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
  /** One after the other. Never rejects. `actor`: who asked for it, for the audit. */
  reload(actor: string): Promise<Reloaded>;
  current(): VersionedTable;
  /** Why the file was refused when it was read last; empty: it was not. */
  problems(): readonly string[];
};

type ReloadDeps = {
  /** The table that is served from the start. */
  first: VersionedTable;
  /** Reads and checks the file. */
  read: () => { found: VersionedTable; problems?: never } | { found?: never; problems: readonly string[] };
  /** Prepares the table and returns what makes it serve. Throws when it cannot be served. */
  prepare: (table: RouteTable) => { swap: () => void; discard: () => Promise<void> };
  /** Writes the change to the audit. It rejects when that fails, and the table is then not used. */
  audit: (actor: string, change: { from: string; to: string; changes: TableChanges }) => Promise<void>;
  count: (result: Reloaded['result']) => void;
  log: Logger;
};

export const createTableReloader = (deps: ReloadDeps): TableReloader => {
  const { log } = deps;
  let served = deps.first;
  let refused: readonly string[] = [];
  let last: Promise<unknown> = Promise.resolve();

  const refuse = (actor: string, problems: readonly string[]): Reloaded => {
    refused = problems;
    log.error(
      { actor, problems, routes_version: served.version },
      'the route table is not used; the earlier one stays in use',
    );
    return { result: 'refused', version: served.version, problems };
  };

  const use = async (actor: string, found: VersionedTable): Promise<Reloaded> => {
    const { table, version } = found;
    const from = served.version;
    const prepared = deps.prepare(table);
    try {
      if (version !== from)
        await deps.audit(actor, { from, to: version, changes: changesBetween(served.table, table) });
    } catch (error) {
      await prepared.discard();
      throw error;
    }
    // Also when only files that the table names have changed.
    prepared.swap();
    served = found;
    refused = [];
    if (version === from) return { result: 'unchanged', version, problems: [] };
    log.warn({ actor, from, routes_version: version }, 'a new route table is served');
    return { result: 'reloaded', version, problems: [] };
  };

  const reload = async (actor: string): Promise<Reloaded> => {
    try {
      const { found, problems } = deps.read();
      return found === undefined ? refuse(actor, problems) : await use(actor, found);
    } catch (error) {
      return refuse(actor, [error instanceof Error ? error.message : String(error)]);
    }
  };

  return {
    reload: (actor) => {
      const next = last.then(async () => {
        const reloaded = await reload(actor);
        deps.count(reloaded.result);
        return reloaded;
      });
      last = next;
      return next;
    },
    current: () => served,
    problems: () => refused,
  };
};
