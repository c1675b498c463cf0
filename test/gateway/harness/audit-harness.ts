/** A gateway with a data folder that tests stop and restart, and whose audit they attack without the master key. */
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { dropOldAudit } from '#src/gateway/audit/retention/retention.ts';
import {
  createCredentials,
  createGateway,
  gatewayServerOptions,
  gatewaySettings,
  openExternalHeads,
  type VerifiedAudit,
  verifyAudit,
} from '#src/gateway/index.ts';
import { createSecretBox, type SecretBox } from '#src/platform/secret-box.ts';
import { supervise } from '#src/platform/supervisor.ts';
import type { TestDatabase } from '../../support/database.ts';
import { createMovableClock, type MovableClock, read } from './gateway-harness.ts';
import { closeServer, listen, sendRequest, startUpstream, unlimited } from './public-door.ts';

const key = Buffer.alloc(32, 7);

export type AuditHarness = {
  database: TestDatabase;
  clock: MovableClock;
  /** Runs SQL with write access to every table. */
  attack(text: string, values?: unknown[]): Promise<Record<string, unknown>[]>;
  /** `more`: settings of the gateway. */
  start(more?: Record<string, unknown>): Promise<void>;
  /** Address of the running gateway. */
  url(): string;
  stop(): Promise<void>;
  /** Makes a change as the command line does, with keys of its own, like another process. */
  change(): Promise<void>;
  /** Makes a change in the process of the running gateway. */
  changeHere(): Promise<void>;
  request(): Promise<void>;
  retain(days: number): ReturnType<typeof dropOldAudit>;
  /** Verifies in a process of its own. `blind`: without the data folder. */
  verify(options?: { blind?: boolean }): Promise<VerifiedAudit>;
  /** Keys of a newly started process. */
  boxOf(options?: { blind?: boolean }): SecretBox;
  close(): Promise<void>;
};

/** `database`: one that is emptied afterwards, so that many harnesses need no more than one. */
export const openAuditHarness = async (database: TestDatabase): Promise<AuditHarness> => {
  const dataDir = mkdtempSync(join(tmpdir(), 'orderpass-'));
  const clock = createMovableClock();
  const upstream = await startUpstream();
  const log = pino({ level: process.env.TEST_LOG ?? 'silent' });
  let box = createSecretBox(key);
  let url = '';
  let stop: (() => Promise<void>) | undefined;
  let changes = 0;

  const boxOf = ({ blind = false } = {}): SecretBox => {
    const made = createSecretBox(key);
    if (!blind) openExternalHeads(made, { dataDir, database: 'house' });
    return made;
  };
  const changeWith = async (by: SecretBox): Promise<void> => {
    changes += 1;
    await createCredentials({ db: database.db, box: by, clock }).createTenant(`tenant_${changes}`);
  };
  const start = async (more: Record<string, unknown> = {}): Promise<void> => {
    box = boxOf();
    const server = createServer(gatewayServerOptions);
    url = await listen(server);
    const settings = gatewaySettings.parse({ ...unlimited, ...more });
    const { db, pool } = database;
    const upstreams = { ordering: upstream.url };
    const gateway = await createGateway({ settings, origin: url, db, pool, box, clock, log, upstreams });
    server.on('request', gateway.handler);
    const ended = new AbortController();
    const services = supervise(gateway.services, ended.signal, log);
    stop = async () => {
      stop = undefined;
      await closeServer(server);
      ended.abort();
      await services;
      await gateway.close();
      await openExternalHeads(box).save();
    };
  };
  return {
    database,
    clock,
    boxOf,
    attack: async (text, values) => (await database.pool.query(text, values)).rows as Record<string, unknown>[],
    start,
    url: () => url,
    stop: async () => stop?.(),
    change: async () => {
      const other = boxOf();
      await changeWith(other);
      await openExternalHeads(other).save();
    },
    changeHere: () => changeWith(box),
    request: async () => {
      await sendRequest(url, 'GET', read);
    },
    retain: (days) => dropOldAudit({ db: database.db, box, clock }, days),
    verify: (options) => verifyAudit({ db: database.db, box: boxOf(options) }),
    close: async () => {
      await stop?.();
      await upstream.close();
      await database.pool.query(`truncate gateway.audit_chains, gateway.audit_events, gateway.audit_sink_positions,
        gateway.audit_hours, gateway.audit_hour_positions, gateway.audit_verifications,
        gateway.audit_tree_leaves, gateway.audit_tree_nodes, gateway.audit_checkpoint_keys, gateway.audit_cosigned,
        gateway.audit_sinks, gateway.tenants cascade`);
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
};
