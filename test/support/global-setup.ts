/**
 * One PostgreSQL for the whole run, with a template database that holds every feature's schema. It is the one that
 * comes with Orderpass, or the one of TEST_DATABASE_URL, whose user must be allowed to create databases.
 */
import { randomBytes } from 'node:crypto';
import { chmod, mkdtemp, rm, statfs } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { pino } from 'pino';
import type { TestProject } from 'vitest/node';
import { allMigrations } from '#src/app/installation/migrations.ts';
import { connectionUrl } from '#src/platform/db/driver/socket-connection.ts';
import { startEmbedded } from '#src/platform/db/embedded/embedded.ts';
import { createPool } from '#src/platform/db/pool.ts';
import { planGrants } from '#src/platform/db/schema/grants.ts';
import { migrate } from '#src/platform/db/schema/migrate.ts';
import { startPgBouncer } from '../platform/pooler/pgbouncer.ts';
import { startCommandPool } from './doubles/command-pool.ts';
import { databaseUrl, roleUrl, run } from './test-server.ts';

/** The data of a test run may be lost with the machine. */
const fastSettings = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' };

/** Connections of the pooler to each database: fewer than a program opens to it. */
const poolSize = 6;

const log = pino({ level: 'error' }, pino.destination(2));

export default async (project: TestProject): Promise<() => Promise<void>> => {
  const server = await openServer();
  const template = `orderpass_template_${randomBytes(6).toString('hex')}`;
  const dmlRole = process.env.TEST_DATABASE_ROLE === 'dml' ? template.replace('template', 'dml') : undefined;
  try {
    await createTemplate(server.url, template, dmlRole);
  } catch (error) {
    await server.close();
    throw error;
  }
  project.provide('testServer', { url: server.url, template, dmlRole });
  const loginUrl = dmlRole === undefined ? server.url : roleUrl(server.url, dmlRole);
  const pooler = process.env.TEST_DATABASE_POOLER === 'on' ? await startPgBouncer(loginUrl, { poolSize }) : undefined;
  // The processes of the test files inherit it (test/support/program.ts).
  const commandsFolder = await mkdtemp(path.join(os.tmpdir(), 'orderpass-commands-'));
  const commands = await startCommandPool(commandsFolder);
  process.env.TEST_COMMAND_POOL = commands.path;
  if (pooler !== undefined)
    Object.assign(process.env, { TEST_POOLER_URL: pooler.urlOf('postgres'), TEST_POOLED_URL: loginUrl });
  return async () => {
    await commands.stop();
    await rm(commandsFolder, { recursive: true });
    await pooler?.stop();
    await dropTemplate(server.url, template, dmlRole).finally(() => server.close());
  };
};

const openServer = async (): Promise<{ url: string; close(): Promise<void> }> => {
  const given = process.env.TEST_DATABASE_URL;
  if (given !== undefined && given !== '') return { url: given, close: async () => undefined };
  const folder = await mkdtemp(path.join(await folderForData(), 'orderpass-test-'));
  // Started by root, the server runs as a user that must be able to enter.
  await chmod(folder, 0o755);
  const remove = (): Promise<void> => rm(folder, { recursive: true, force: true });
  const dataDir = path.join(folder, 'data');
  const embedded = await startEmbedded({ dataDir, log, extraSettings: fastSettings }).catch(async (error: unknown) => {
    await remove();
    throw error;
  });
  return { url: connectionUrl(embedded.connection), close: () => embedded.stop().finally(remove) };
};

/** Where Linux keeps files in memory, its type of file system (statfs(2)), and the bytes that a whole run may need. */
const memory = { folder: '/dev/shm', type: 0x01_02_19_94, roomBytes: 4 * 1024 ** 3 };

/**
 * In memory where there is room. Tests have databases of their own, and the thousand files of one cost a disk's file system a
 * tenth to a third of a second of processor time.
 */
const folderForData = async (): Promise<string> => {
  const found = await statfs(memory.folder).catch(() => undefined);
  const isMemory = found?.type === memory.type && found.bavail * found.bsize >= memory.roomBytes;
  // The other processes of the run need as much again.
  return isMemory && process.availableMemory() >= 2 * memory.roomBytes ? memory.folder : os.tmpdir();
};

const createTemplate = async (url: string, template: string, dmlRole: string | undefined): Promise<void> => {
  await run(url, `create database ${template}`);
  const pool = createPool({ connection: databaseUrl(url, template), max: 1, applicationName: 'template' }, log);
  try {
    await migrate(pool, allMigrations, { log });
    if (dmlRole !== undefined) {
      await pool.query(`create role ${dmlRole} login password '${dmlRole}'`);
      await pool.query((await planGrants(pool, allMigrations, dmlRole)).join(';\n'));
    }
  } finally {
    await pool.end();
  }
  // A template that accepts no connections is never busy when it is cloned.
  await run(url, `alter database ${template} with allow_connections false`);
};

const dropTemplate = async (url: string, template: string, dmlRole: string | undefined): Promise<void> => {
  await run(url, `drop database if exists ${template} with (force)`);
  if (dmlRole !== undefined) await run(url, `drop role ${dmlRole}`);
};
