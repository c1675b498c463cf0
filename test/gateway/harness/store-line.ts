/** A line to the store that a test can cut, freeze or slow down, as a failing network or server would. */
import { connect, createServer, type Socket } from 'node:net';
import pg from 'pg';
import { pino } from 'pino';
import { createPool } from '#src/platform/db/pool.ts';
import { freePort } from '../../support/free-port.ts';

export type StoreLine = {
  /** For DATABASE_URL of a program. */
  url: string;
  pool: pg.Pool;
  /** Connections break, new ones are refused. */
  cut(): Promise<void>;
  /** Connections stay and nothing comes through any more; new ones are taken and silent. */
  freeze(): void;
  /** Answers of the store, or the questions to it, arrive so many milliseconds later. */
  slow(ms: number, way?: 'answers' | 'questions'): void;
  /** Of the connection that sends this text next, no answer comes through any more. */
  silence(text: string): void;
  /** Connections whose answers do not come through. */
  silent(): number;
  /** Such connections break. */
  breakSilent(): void;
  restore(): Promise<void>;
  close(): Promise<void>;
};

/** `silentMsMax`: see createPool. */
export const openStoreLine = async (databaseUrl: string, more: { silentMsMax?: number } = {}): Promise<StoreLine> => {
  const { host, port, user, database } = new pg.Client({ connectionString: databaseUrl });
  const target = host.startsWith('/') ? { path: `${host}/.s.PGSQL.${port}` } : { host, port };
  const sockets = new Set<Socket>();
  let frozen = false;
  let wanted: string | undefined;
  const silent = new Set<Socket>();
  const lateMs = { answers: 0, questions: 0 };
  const track = (socket: Socket): Socket => {
    sockets.add(socket);
    return socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
  };
  const server = createServer((near) => {
    track(near);
    if (frozen) return;
    const far = track(connect(target));
    const pass = (to: Socket, way: 'answers' | 'questions') => (chunk: Buffer) => {
      if (way === 'questions' && wanted !== undefined && chunk.includes(wanted)) {
        wanted = undefined;
        silent.add(near);
      }
      const write = (): boolean => frozen || silent.has(to) || to.write(chunk);
      if (lateMs[way] === 0) write();
      else setTimeout(write, lateMs[way]);
    };
    near.on('data', pass(far, 'questions')).on('close', () => {
      silent.delete(near);
      far.destroy();
    });
    far.on('data', pass(near, 'answers'));
    far.on('close', () => near.destroy());
  });
  // It listens there again after each cut.
  const linePort = await freePort();
  const open = (): Promise<void> => new Promise((resolve) => server.listen(linePort, '127.0.0.1', resolve));
  await open();
  const stop = async (): Promise<void> => {
    const closed = new Promise((resolve) => server.close(resolve));
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  const connection = `postgresql://${encodeURIComponent(user ?? '')}@127.0.0.1:${linePort}/${database}`;
  const pool = createPool({ connection, applicationName: 'test-line', ...more }, pino({ level: 'silent' }));
  return {
    url: connection,
    pool,
    cut: stop,
    freeze: () => {
      frozen = true;
    },
    slow: (ms, way = 'answers') => {
      lateMs[way] = ms;
    },
    silence: (text) => {
      wanted = text;
    },
    silent: () => silent.size,
    breakSilent: () => {
      for (const socket of silent) socket.destroy();
    },
    restore: async () => {
      frozen = false;
      for (const socket of sockets) socket.destroy();
      if (!server.listening) await open();
    },
    close: async () => {
      frozen = false;
      await pool.end();
      if (server.listening) await stop();
    },
  };
};
