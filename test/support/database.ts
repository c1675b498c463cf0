/** A database of its own for a test file, with every schema and no rows. */
import { randomBytes } from 'node:crypto';
import type { Kysely } from 'kysely';
import pg from 'pg';
import { pino } from 'pino';
import { inject } from 'vitest';
import { createDatabase, createPool } from '#src/platform/db/pool.ts';
import { databaseUrl, roleUrl, run } from './test-server.ts';

export type TestDatabase = {
  /** For DATABASE_URL of a program: of the owner, or of the role of TEST_DATABASE_ROLE=dml. */
  url: string;
  /** Of the owner, as which the test itself looks and changes. */
  ownerUrl: string;
  pool: pg.Pool;
  db: Kysely<unknown>;
  /** Ends the pool and removes the database, also under programs that still use it. */
  drop(): Promise<void>;
};

const cloneMs = 20_000;
const sourceInUse = '55006';

export const createTestDatabase = async (): Promise<TestDatabase> => {
  const { template, dmlRole } = inject('testServer');
  // Copying its files costs half of what writing each page to the WAL costs.
  return open((name) => `create database ${name} template ${template} strategy file_copy`, dmlRole);
};

/** Without any schema, for tests of the migrations themselves. */
export const createEmptyDatabase = (): Promise<TestDatabase> => open((name) => `create database ${name}`);

const open = async (statement: (name: string) => string, role?: string): Promise<TestDatabase> => {
  const server = inject('testServer');
  const name = `orderpass_test_${randomBytes(6).toString('hex')}`;
  await retryWhileInUse(() => run(server.url, statement(name)));
  const ownerUrl = databaseUrl(server.url, name);
  const url = role === undefined ? ownerUrl : roleUrl(ownerUrl, role);
  const pool = createPool({ connection: ownerUrl, applicationName: 'test' }, pino({ level: 'silent' }));
  let ended: Promise<void> | undefined;
  const drop = async (): Promise<void> => {
    ended ??= pool.end();
    await ended;
    await run(server.url, `drop database if exists ${name} with (force)`);
  };
  return { url, ownerUrl, pool, db: createDatabase(pool), drop };
};

/** The source may have a visitor for a moment: a background worker of the server, or another clone. */
const retryWhileInUse = async (clone: () => Promise<void>): Promise<void> => {
  const deadline = Date.now() + cloneMs;
  for (;;) {
    try {
      return await clone();
    } catch (error) {
      const busy = error instanceof pg.DatabaseError && error.code === sourceInUse;
      if (!busy || Date.now() > deadline) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
};

export type Notifications = {
  /** Channels, in the sequence of the notifications. */
  received: string[];
  close(): Promise<void>;
};

/** Receives notifications as another process would, on a connection of its own. */
export const openNotifications = async (url: string, channels: readonly string[]): Promise<Notifications> => {
  const client = new pg.Client({ connectionString: url });
  const received: string[] = [];
  client.on('notification', ({ channel }) => received.push(channel));
  await client.connect();
  for (const channel of channels) await client.query(`listen ${client.escapeIdentifier(channel)}`);
  return { received, close: () => client.end() };
};
