/** A real Redis of a test's own, without disk, that can be killed and started again on its port. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import type { AddressInfo } from 'node:net';
import { connect, createServer } from 'node:net';
import { until } from './until.ts';

export type TestRedis = {
  url: string;
  start(): Promise<void>;
  /** SIGKILL: everything that it held is lost. */
  kill(): Promise<void>;
  /** SIGSTOP: connections stay open without an answer; `resume` undoes it. */
  freeze(): void;
  resume(): void;
};

/** Tests that need a Redis are skipped by this where there is none: install redis-server to run them. */
export const hasRedis = (() => {
  try {
    execFileSync('redis-server', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    process.stderr.write('skipped: tests with a real Redis, since there is no redis-server on the PATH\n');
    return false;
  }
})();

export const startRedis = async (): Promise<TestRedis> => {
  const port = await freePort();
  let child: ChildProcess | undefined;
  const redis: TestRedis = {
    url: `redis://127.0.0.1:${port}`,
    start: async () => {
      const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
      child = spawn('redis-server', args, { stdio: 'ignore' });
      await until(() => answers(port));
    },
    kill: async () => {
      const dying = child;
      child = undefined;
      if (dying === undefined) return;
      const gone = new Promise((resolve) => dying.once('exit', resolve));
      dying.kill('SIGKILL');
      await gone;
    },
    freeze: () => void child?.kill('SIGSTOP'),
    resume: () => void child?.kill('SIGCONT'),
  };
  await redis.start();
  return redis;
};

const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as AddressInfo;
      probe.close(() => resolve(port));
    });
  });

const answers = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write('PING\r\n'));
    socket.once('data', (chunk) => {
      socket.destroy();
      resolve(chunk.toString().startsWith('+PONG'));
    });
    socket.once('error', () => resolve(false));
  });
