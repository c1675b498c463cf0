/** The program with its demo restaurant, a proxy with faults in front of it, and a receiver of webhooks, for one test file. */
import { randomBytes } from 'node:crypto';
import { importsAnswer } from '../../support/orders/imports-answer.ts';
import { makeDataDir, runJson, startProgram } from '../../support/program.ts';
import { until } from '../../support/until.ts';
import { startReceiver, type WebhookReceiver } from '../../support/webhook-receiver.ts';
import { type FaultProxy, startFaultProxy } from './fault-proxy.ts';

export type ClientsHarness = {
  proxy: FaultProxy;
  receiver: WebhookReceiver;
  /** Of the demo restaurant; `url` is that of the proxy, `run` differs in each call. */
  variables(): { url: string; clientId: string; clientSecret: string; [name: string]: string };
  /** A command of the program; its JSON. */
  command(args: readonly string[]): Promise<unknown>;
  close(): Promise<void>;
};

export const startClientsHarness = async (): Promise<ClientsHarness> => {
  const data = makeDataDir();
  const receiver = await startReceiver();
  const env = { ORDERPASS_DATA_DIR: data.path, ORDERPASS_ALLOW_PRIVATE_TARGETS: 'true' };
  const program = await startProgram(env);
  await until(() => program.output().includes('/demo/receiver\n'));
  const proxy = await startFaultProxy(program.url);
  const shown = (name: string): string => new RegExp(`${name} +(\\S+)`).exec(program.output())?.[1] ?? '';
  await importsAnswer(program.url, { 'x-client-id': shown('Client id'), 'x-client-secret': shown('Client secret') });
  const { restaurants } = await ownRestaurants(program.url, shown('API key'));
  return {
    proxy,
    receiver,
    variables: () => ({
      url: proxy.url,
      hookUrl: receiver.url,
      apiKey: shown('API key'),
      clientId: shown('Client id'),
      clientSecret: shown('Client secret'),
      restuid: restaurants[0]?.uid ?? '',
      run: randomBytes(4).toString('hex'),
    }),
    command: (args) => runJson(args, env),
    close: async () => {
      await program.stop();
      await proxy.close();
      await receiver.close();
      data.remove();
    },
  };
};

const ownRestaurants = async (url: string, key: string): Promise<{ restaurants: { uid: string }[] }> => {
  const answer = await fetch(`${url}/api/whoami`, { headers: { 'x-api-key': key } });
  return ((await answer.json()) as { credential: { restaurants: { uid: string }[] } }).credential;
};
