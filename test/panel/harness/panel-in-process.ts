/**
 * The panel alone, in this process, with a clock that tests move: the same handler as in the program, on a socket of
 * its own.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import { appendChange, createReadSource } from '#src/gateway/index.ts';
import { linkPath, providerReturnPath } from '#src/panel/config.ts';
import { createPanel } from '#src/panel/index.ts';
import { listenOn } from '#src/platform/db/hints/listen.ts';
import { createDatabase, createPool } from '#src/platform/db/pool.ts';
import { isTransient } from '#src/platform/db/transaction.ts';
import { createSecretBox } from '#src/platform/secret-box.ts';
import { supervise } from '#src/platform/supervisor.ts';
import { createStaff, createUsers, type RecordEvents, type StaffEvent } from '#src/staff/index.ts';
import { makeSecret } from '#src/webhooks/index.ts';
import { createTestDatabase } from '../../support/database.ts';

type Settings = Parameters<typeof createStaff>[0]['settings'];

export type Answer = { status: number; location: string | null; retryAfter: string | null; text: string };

/** A browser without pages: keeps cookies, follows nothing. */
export type Visitor = {
  cookies: Map<string, string>;
  get(path: string): Promise<Answer>;
  /** With the token of the session, taken from the account page, unless `token` says otherwise. */
  post(path: string, fields: Record<string, string>, token?: string): Promise<Answer>;
};

/** `storeUrl`: where the panel looks for its store; default: a database of its own. */
export const startPanel = async (settings: Partial<Settings> = {}, streamBeatMs = 25_000, storeUrl?: string) => {
  const log = pino({ level: 'silent' });
  const database = await createTestDatabase();
  const pool =
    storeUrl === undefined ? database.pool : createPool({ connection: storeUrl, applicationName: 'panel' }, log);
  const db = createDatabase(pool);
  let nowMs = Date.parse('2026-03-01T10:00:00Z');
  const clock = { now: () => new Date(nowMs) };
  const box = createSecretBox(Buffer.alloc(32, 3));
  const events: StaffEvent[] = [];
  // The real audit of the gateway, and a list of the recorded events.
  const record: RecordEvents = async (tx, now, ...recorded) => {
    await appendChange(
      tx,
      box,
      now,
      ...recorded.map(({ action, outcome, actor, reason, details }) => ({
        ...{ action, outcome, actor: actor ?? null, reason: reason ?? null },
        details: JSON.stringify(details ?? {}),
      })),
    );
    events.push(...recorded);
  };
  const server = createServer((request, response) => panel.handler(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const linkAddress = `${origin}${linkPath}`;
  const staff = createStaff({
    ...{ db, box, clock, log, record, linkAddress },
    returnAddress: `${origin}${providerReturnPath}`,
    noticeUrls: {
      problemOf: async (url) => (url.startsWith('https://') ? undefined : 'must begin with https://'),
      makeSecret,
    },
    settings: { oidc_label: 'single sign-on', ...settings },
  });
  const panel = createPanel({
    ...{ clock, log, origin, isPassing: isTransient, streamBeatMs },
    listen: (channels, onNews, signal) => listenOn(pool, channels, onNews, signal),
    // As behind one proxy, so that a test may come from anywhere.
    readSource: createReadSource(1),
    ports: { staff, ...({} as Omit<Parameters<typeof createPanel>[0]['ports'], 'staff'>) },
  });
  const users = createUsers({ db, box, clock, record, linkAddress });
  const ended = new AbortController();
  const running = supervise([...panel.services, ...staff.services], ended.signal, log);

  const visitor = (address = '192.0.2.1'): Visitor => {
    const cookies = new Map<string, string>();
    const ask = async (path: string, init: RequestInit): Promise<Answer> => {
      const answer = await fetch(`${origin}${path}`, {
        ...init,
        redirect: 'manual',
        headers: {
          ...(init.headers as Record<string, string>),
          cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; '),
          'x-forwarded-for': address,
          'user-agent': 'Mozilla/5.0 (X11; Linux x86_64) Chrome/140.0',
        },
      });
      for (const text of answer.headers.getSetCookie()) {
        const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(text) ?? [];
        if (/max-age=0/i.test(text)) cookies.delete(name);
        else cookies.set(name, value);
      }
      const { status, headers } = answer;
      return {
        ...{ status, location: headers.get('location'), retryAfter: headers.get('retry-after') },
        text: await answer.text(),
      };
    };
    const get = (path: string): Promise<Answer> => ask(path, {});
    return {
      cookies,
      get,
      post: async (path, fields, token) => {
        const known = token ?? /name="csrf" value="([^"]+)"/.exec((await get('/panel/account')).text)?.[1] ?? '';
        return ask(path, {
          method: 'POST',
          headers: { origin, 'content-type': 'application/x-www-form-urlencoded' },
          body: new URLSearchParams({ ...fields, csrf: known }),
        });
      },
    };
  };

  return {
    ...{ database, db, origin, users, visitor, events, box, clock },
    contacts: staff.contacts,
    /** Moves the clock. */
    pass: (ms: number): void => {
      nowMs += ms;
    },
    close: async (): Promise<void> => {
      ended.abort();
      panel.close();
      await running;
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await database.drop();
    },
  };
};

export type PanelInProcess = Awaited<ReturnType<typeof startPanel>>;
