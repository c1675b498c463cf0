/**
 * Every page of the panel with a year of data, by the size of its answer and the work of its processors. It takes minutes, so
 * `npm run test:pages` runs it.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { allPages } from '#src/panel/pages.ts';
import { embeddedConnection } from '#src/platform/db/embedded/embedded.ts';
import { makeDataDir, type RunningProgram, root, startProgram } from '../../support/program.ts';
import { query } from '../../support/store-owner.ts';
import { until } from '../../support/until.ts';
import { crawl } from '../harness/crawl.ts';
import { makeAccounts } from './accounts.ts';
import { yearStatements } from './grow-year.ts';
import { pageProblem, type Server } from './measure-pages.ts';

type MeasuredPage = { name: string; address: string; cookie: string };

/** All of administrators, and what the other roles see at other addresses or in another form, as the start page. */
const pagesOfRoles = async (program: RunningProgram, env: Record<string, string>): Promise<MeasuredPage[]> => {
  const pages: MeasuredPage[] = [];
  for (const [role, { cookie }] of await makeAccounts(program, env)) {
    const mine = allPages.filter(({ roles }) => roles.includes(role));
    for (const [path, address] of await crawl(program.url, cookie, mine)) {
      const isMeasured = address !== '/panel' && pages.some((other) => other.address === address);
      if (role === 'contact' || !isMeasured) pages.push({ name: `${role} ${path}`, address, cookie });
    }
  }
  return pages;
};

const growYear = async (folder: string): Promise<void> => {
  const found = await embeddedConnection(folder);
  if (found === undefined) throw new Error('the store of the demo takes no connection');
  const { connection } = found;
  const columnsOf = async (table: string): Promise<string[]> => {
    const rows = (await query(
      connection,
      `select attname::text as name from pg_attribute where attrelid = '${table}'::regclass and attnum > 0
         and not attisdropped and attgenerated = '' order by attnum`,
    )) as { name: string }[];
    return rows.map(({ name }) => String(name));
  };
  await query(connection, (await yearStatements(columnsOf)).join(';'));
};

test('A-583 each page of the panel with a year of data has at most 80 kB and takes at most 100 ms of the processors', async () => {
  const data = makeDataDir();
  const env = { ORDERPASS_DATA_DIR: data.path };
  const program = await startProgram(env, root, ['--demo-data']);
  try {
    await until(() => program.output().includes('/demo/receiver\n'));
    const pages = await pagesOfRoles(program, env);
    const countOf = (role: string): number => pages.filter(({ name }) => name.startsWith(role)).length;
    expect(countOf('admin')).toBeGreaterThan(50);
    expect(countOf('contact')).toBeGreaterThan(8);
    await growYear(data.path);
    const pidFile = await readFile(join(data.path, 'postgres', 'postmaster.pid'), 'utf8');
    const server: Server = {
      url: program.url,
      program: program.child.pid ?? 0,
      database: Number(pidFile.split('\n')[0]),
    };
    const wrong: string[] = [];
    for (const { name, address, cookie } of pages) {
      const problem = await pageProblem(server, address, cookie);
      if (problem !== undefined) wrong.push(`${name}: ${problem}`);
    }
    expect(wrong).toEqual([]);
  } finally {
    await program.stop();
    data.remove();
  }
}, 900_000);
