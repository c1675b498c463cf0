/** Joins what reloads the route table: its file, its checks, the audit, and the three ways to ask for it. */
import { hostname } from 'node:os';
import type { Kysely } from 'kysely';
import type { Clock } from '#src/platform/clock.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import { watchFiles } from '#src/platform/files/watch-files.ts';
import type { Logger } from '#src/platform/log.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import type { Service } from '#src/platform/supervisor.ts';
import { appendChange } from '../../audit/record/append-change.ts';
import type { RouteTable } from '../../model/route.ts';
import { turnedOnPaths } from '../../model/route-path.ts';
import {
  loadVersion,
  namedTlsFiles,
  ownPathProblems,
  plainAddressProblems,
  routeTableProblems,
} from '../load-route-table.ts';
import type { VersionedTable } from '../table-changes.ts';
import { tlsFilesOf } from '../tls-files.ts';
import { createFollowRequests, type RequestWatch } from './follow-requests.ts';
import { createTableReloader, type Reloaded, type TableReloader } from './reload-table.ts';

/** What a gateway serves, and what it has done of the requests to reload. */
export type TableState = VersionedTable & {
  /** Why the file was refused when it was read last; empty: it was not. */
  problems: readonly string[];
  /** Number of the last request that was carried out, or that was there when the table was read. */
  request: number;
};

/**
 * Of several processes that are one gateway. A process that starts later serves the table of the others (`handed`), although
 * the file may hold another one that was not accepted yet. `keep`: for processes that start later.
 */
export type SharedTable = { handed: TableState | undefined; keep(state: TableState): void };

type OpenReloadDeps = {
  settings: { routes_watch: 'on' | 'off'; auth_check_audiences: readonly string[]; mcp: 'on' | 'off' };
  file: string;
  first: VersionedTable;
  sharedTable?: SharedTable | undefined;
  requests: RequestWatch;
  /** Name -> address, from the settings. */
  upstreams: Readonly<Record<string, string>>;
  /** See createTableReloader. */
  prepare: (table: RouteTable) => { swap: () => void; discard: () => Promise<void> };
  count: (result: Reloaded['result']) => void;
  db: Kysely<unknown>;
  background: Kysely<unknown>;
  box: SecretBox;
  clock: Clock;
  log: Logger;
};

/** `services`: carry out requests of the command line, and notice a changed file where the operator wants it. */
export const openReload = (deps: OpenReloadDeps): TableReloader & { services: Service[] } => {
  const { file, db, box, clock, requests, sharedTable } = deps;
  /** Of the table that was refused last. */
  let refusedFiles: readonly string[] = [];
  const gateway = `${hostname()}:${process.pid}`;
  const reloader = createTableReloader({
    ...deps,
    problems: sharedTable?.handed?.problems ?? [],
    read: () => {
      const read = readChecked(deps);
      refusedFiles = read.found === undefined ? namedTlsFiles(file) : [];
      return read;
    },
    audit: (actor, { from, to, changes }) =>
      inTransaction(db, (tx) =>
        appendChange(tx, box, clock.now(), {
          action: 'config.reloaded',
          actor,
          details: JSON.stringify({ gateway, from, to, ...changes }),
        }),
      ),
  });
  const keep = sharedTable === undefined ? () => undefined : createKeep(sharedTable, reloader, requests);
  if (sharedTable?.handed === undefined) keep();
  const reload: TableReloader['reload'] = async (actor, isRepeat) => {
    const reloaded = await reloader.reload(actor, isRepeat);
    keep();
    return reloaded;
  };
  const follow = createFollowRequests({ db: deps.background, reloader, gateway, requests, onDone: keep });
  const watch: Service = {
    name: 'route-table-watch',
    run: (signal) =>
      watchFiles(
        () => [file, ...tlsFilesOf(reloader.current().table.upstreams), ...refusedFiles],
        () => reload('watch', true),
        signal,
        () => reloader.problems().length === 0,
      ),
  };
  return { ...reloader, reload, services: deps.settings.routes_watch === 'on' ? [follow, watch] : [follow] };
};

/** Each state is reported once. */
const createKeep = (sharedTable: SharedTable, reloader: TableReloader, requests: RequestWatch): (() => void) => {
  let kept: string | undefined;
  return () => {
    const { table, version } = reloader.current();
    const state = { table, version, problems: reloader.problems(), request: requests.done };
    const text = JSON.stringify({ ...state, table: undefined });
    if (text === kept) return;
    kept = text;
    sharedTable.keep(state);
  };
};

/** The same checks as at a start (app/settings/check-settings.ts). */
const readChecked = ({ file, upstreams, settings }: OpenReloadDeps): ReturnType<CreateDeps['read']> => {
  const names = Object.keys(upstreams);
  const problems = [
    ...routeTableProblems(file, names),
    ...plainAddressProblems(file, upstreams),
    ...ownPathProblems(file, turnedOnPaths(settings)),
  ];
  if (problems.length > 0) return { problems };
  const found = loadVersion(file, names);
  const lost = settings.auth_check_audiences.filter(
    (name) => !names.includes(name) && found.table.upstreams[name]?.addresses === undefined,
  );
  return lost.length === 0
    ? { found }
    : { problems: lost.map((name) => `upstreams: the setting auth_check_audiences needs an address for ${name}`) };
};

type CreateDeps = Parameters<typeof createTableReloader>[0];
