/** Reads the lists of a caller's requests as the caller does. */
import { until } from '../../support/until.ts';
import { type Headers, type Reply, sendRequest } from '../harness/public-door.ts';

export type Listed = {
  request_id: string;
  at_iso: string;
  method: string;
  route: string | null;
  path: string | null;
  status: number | null;
  code: string | null;
  duration_ms: number;
  restuid: string | null;
  idempotency_key: string | null;
};

export const ask = (url: string, headers: Headers, query = ''): Promise<Reply> =>
  sendRequest(url, 'GET', `/api/whoami/requests${query}`, { headers });

export const requestsOf = async (url: string, headers: Headers, query = ''): Promise<Listed[]> => {
  const reply = await ask(url, headers, query);
  if (reply.status !== 200) throw new Error(`${reply.status}: ${reply.text}`);
  return reply.json.requests as Listed[];
};

/** The requests, once the one with this id is among them. */
export const untilListed = async (url: string, headers: Headers, requestId: string): Promise<Listed[]> => {
  let listed: Listed[] = [];
  await until(async () => {
    listed = await requestsOf(url, headers);
    return listed.some(({ request_id }) => request_id === requestId);
  });
  return listed;
};

export const usageOf = async (url: string, headers: Headers, query = ''): Promise<Reply['json']> => {
  const reply = await sendRequest(url, 'GET', `/api/whoami/usage${query}`, { headers });
  if (reply.status !== 200) throw new Error(`${reply.status}: ${reply.text}`);
  return reply.json;
};

/** Every page, following next_cursor. */
export const walk = async (url: string, headers: Headers, query: string): Promise<Listed[][]> => {
  const pages: Listed[][] = [];
  let cursor: string | null = '';
  while (cursor !== null) {
    const reply: Reply = await ask(url, headers, `${query}${cursor === '' ? '' : `&cursor=${cursor}`}`);
    if (reply.status !== 200) throw new Error(`${reply.status}: ${reply.text}`);
    pages.push(reply.json.requests as Listed[]);
    cursor = reply.json.next_cursor as string | null;
    if (reply.json.more !== (cursor !== null)) throw new Error('more and next_cursor differ');
  }
  return pages;
};
