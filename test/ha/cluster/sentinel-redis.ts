/** Redis for what gateways share: a primary, a replica, and three Sentinels that replace the primary. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../../support/free-port.ts';
import { askRedis } from '../../support/redis.ts';
import { until } from '../../support/until.ts';
import { type ServerProcess, startServerProcess } from './server-process.ts';

export type SentinelRedis = {
  /** For REDIS_URL. */
  url: string;
  /** Kills the primary; resolves when the replica has replaced it and the killed one has become its replica. */
  failOver(): Promise<void>;
  close(): Promise<void>;
};

type Server = { port: number; file: string; process: ServerProcess };

/** `command`: redis-server. `folder` gets the configurations, which Sentinels write again, and the logs. */
export const startSentinelRedis = async (folder: string, command: string): Promise<SentinelRedis> => {
  const run = (file: string, ...more: string[]): ServerProcess =>
    startServerProcess(command, [file, ...more], { account: undefined, logFile: `${file}.log` });
  const start = async (name: string, lines: readonly string[], ...more: string[]): Promise<Server> => {
    const port = await freePort();
    const file = join(folder, `${name}.conf`);
    writeFileSync(file, [`port ${port}`, 'bind 127.0.0.1', `dir ${folder}`, ...lines, ''].join('\n'));
    return { port, file, process: run(file, ...more) };
  };
  const servers = [await start('redis-1', ['save ""'])];
  const [first] = servers as [Server];
  servers.push(await start('redis-2', ['save ""', `replicaof 127.0.0.1 ${first.port}`]));
  const isReplica = async ({ port }: Server): Promise<boolean> =>
    String(await ask(port, 'INFO', 'replication')).includes('master_link_status:up');
  await until(async () => (await Promise.all(servers.map(isReplica))).includes(true));
  const sentinels: Server[] = [];
  for (const name of ['sentinel-1', 'sentinel-2', 'sentinel-3']) {
    const lines = [
      `sentinel monitor limits 127.0.0.1 ${first.port} 2`,
      'sentinel down-after-milliseconds limits 1000',
      'sentinel failover-timeout limits 5000',
    ];
    sentinels.push(await start(name, lines, '--sentinel'));
  }
  const primaryPort = async (): Promise<number> => {
    const [sentinel] = sentinels as [Server];
    const address = await ask(sentinel.port, 'SENTINEL', 'get-master-addr-by-name', 'limits');
    return Array.isArray(address) ? Number(address[1]) : 0;
  };
  /** Every Sentinel sees the two others and the replica, so that a majority can replace the primary. */
  const isReady = async ({ port }: Server): Promise<boolean> => {
    const info = String(await ask(port, 'INFO', 'sentinel'));
    return info.includes('status=ok') && info.includes('slaves=1') && info.includes('sentinels=3');
  };
  const isWhole = async (): Promise<boolean> =>
    (await Promise.all(sentinels.map(isReady))).every(Boolean) &&
    (await Promise.all(servers.map(isReplica))).includes(true);
  await until(isWhole);
  return {
    url: `redis+sentinel://${sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',')}/limits`,
    failOver: async () => {
      const before = await primaryPort();
      const killed = servers.find(({ port }) => port === before);
      if (killed === undefined) throw new Error('the Sentinels name no Redis of the test');
      await killed.process.end('SIGKILL');
      await until(async () => ![0, before].includes(await primaryPort()));
      killed.process = run(killed.file);
      await until(isWhole);
    },
    close: async () => {
      for (const server of [...sentinels, ...servers]) await server.process.end('SIGKILL');
    },
  };
};

/** Undefined when the server does not answer. */
const ask = (port: number, ...command: [string, ...string[]]): Promise<unknown> =>
  askRedis(port, {}, ...command).catch(() => undefined);
