/** Which listeners a poll notifies when several watch the same topic. The test answers the polls. */
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { type ChangeWatch, createChangeWatch } from '#src/panel/live/change-watch.ts';
import type { Topic } from '#src/panel/live/topic.ts';
import type { Ports } from '#src/panel/ports/ports.ts';
import { until } from '../../support/until.ts';

const looks: PromiseWithResolvers<string>[] = [];
const topic: Topic = {
  name: 'lamp',
  roles: ['admin'],
  mark: () => {
    const look = Promise.withResolvers<string>();
    looks.push(look);
    return look.promise;
  },
};
/** Polls of one topic with many subjects, in their order. */
const visits: { subject: string; look: PromiseWithResolvers<string> }[] = [];
const rooms: Topic = {
  name: 'rooms',
  roles: ['admin'],
  mark: (_ports, subject) => {
    const look = Promise.withResolvers<string>();
    visits.push({ subject, look });
    return look.promise;
  },
};
const ended = new AbortController();
let watch: ChangeWatch;
let running: Promise<unknown>;

beforeAll(() => {
  // The topic asks none of the ports.
  const ports = {} as Ports;
  watch = createChangeWatch({ topics: [topic, rooms], ports, log: pino({ level: 'silent' }), listen: undefined });
  running = Promise.all(watch.services.map(({ run }) => run(ended.signal)));
});

afterAll(async () => {
  ended.abort();
  for (const look of [...looks, ...visits.map((visit) => visit.look)]) look.resolve('off');
  await running;
});

const listen = (): { marks: string[]; stop: () => void } => {
  const marks: string[] = [];
  return { marks, stop: watch.watch(topic, '', (mark) => marks.push(mark)) };
};

const nextLook = async (number: number, timeoutMs?: number): Promise<PromiseWithResolvers<string>> => {
  await until(() => looks.length === number, timeoutMs);
  const look = looks.at(-1);
  if (look === undefined) throw new Error('there was no poll');
  return look;
};

test('a listener is notified after the first poll that began after it was added and succeeded, and then only of changes', async () => {
  const early = listen();
  const first = await nextLook(1);
  const late = listen();
  first.resolve('off');
  await until(() => early.marks.length === 1);
  expect(late.marks).toEqual([]);

  // Sooner than the interval, because a listener was added.
  (await nextLook(2, 2_000)).resolve('on');
  await until(() => late.marks.length === 1);
  expect(early.marks).toEqual([expect.any(String), late.marks[0]]);
  expect(early.marks[0]).not.toBe(late.marks[0]);

  const latest = listen();
  const gone = listen();
  (await nextLook(3)).reject(new Error('the store is away'));
  const fourth = await nextLook(4);
  gone.stop();
  fourth.resolve('on');
  await until(() => latest.marks.length === 1);
  expect(latest.marks).toEqual(late.marks);
  expect([early.marks.length, late.marks.length, gone.marks.length]).toEqual([2, 1, 0]);
  for (const { stop } of [early, late, latest]) stop();
});

test('while marks take longer than the interval, each watched subject is polled in turn', async () => {
  let passedMs = 0;
  const clock = performance.now.bind(performance);
  const moved = vi.spyOn(performance, 'now').mockImplementation(() => clock() + passedMs);
  const subjects = Array.from({ length: 12 }, (_, n) => `room ${n}`);
  const stops = subjects.map((subject) => watch.watch(rooms, subject, () => undefined));
  for (let polled = 4; polled <= 2 * subjects.length; polled += 4) {
    await until(() => visits.length === polled);
    // Now the subjects that were polled first are due again.
    passedMs += 4_000;
    for (const { look } of visits.slice(polled - 4)) look.resolve('empty');
  }
  expect(visits.slice(0, 24).map(({ subject }) => subject)).toEqual([...subjects, ...subjects]);
  for (const stop of stops) stop();
  moved.mockRestore();
});
