/** What users of one role see in common is read once for all of them, and what is a user's own for that user. */
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { createChangeWatch } from '#src/panel/live/change-watch.ts';
import { readTopics, streamUrlOf } from '#src/panel/live/page-topics.ts';
import { overviewTopic, overviewTopics } from '#src/panel/overview/topics.ts';
import type { Ports } from '#src/panel/ports/ports.ts';
import type { Role } from '#src/panel/ports/role.ts';

const owners: string[] = [];
const ports = {
  overview: {
    callers: async () => ({ quarantined: [], failing: [], limited: [] }),
    refusals: async () => [],
    owner: async ([restuid = '']: string[]) => {
      owners.push(restuid);
      return { restuid };
    },
  },
  staff: { users: { find: async (id: string) => ({ role: 'owner', restaurants: [`rst_of_${id}`] }) } },
} as unknown as Ports;

const watch = createChangeWatch({ topics: overviewTopics, ports, log: pino({ level: 'silent' }), listen: undefined });

const user = (id: string, role: Role) => ({ id, role, restaurants: [], clients: [] });

const subjectFor = (id: string, role: Role): string | undefined =>
  readTopics(watch, new URLSearchParams({ topic: overviewTopic }), user(id, role))[0]?.subject;

test('the start page has one subject for all users of support, security or administration, and one for each owner and contact', async () => {
  for (const role of ['support', 'security', 'admin'] as const)
    expect(subjectFor('usr_1', role)).toBe(subjectFor('usr_2', role));
  expect(new Set((['support', 'security', 'admin'] as const).map((role) => subjectFor('usr_1', role))).size).toBe(3);
  for (const role of ['owner', 'contact'] as const)
    expect(subjectFor('usr_1', role)).not.toBe(subjectFor('usr_2', role));
});

test('the mark of an owner is that of the own restaurants, and that of support the same for all of support', async () => {
  const page = { topics: [overviewTopic] };
  const none = { restaurant: '', client: '' };
  const [one, two] = [
    await streamUrlOf(watch, page, user('usr_1', 'support'), none),
    await streamUrlOf(watch, page, user('usr_2', 'support'), none),
  ];
  expect(one).toMatch(/~|%7E/);
  expect(one).toBe(two);
  const [ofOne, ofTwo] = [
    await streamUrlOf(watch, page, user('usr_1', 'owner'), none),
    await streamUrlOf(watch, page, user('usr_2', 'owner'), none),
  ];
  expect(ofOne).not.toBe(ofTwo);
  expect(owners).toEqual(['rst_of_usr_1', 'rst_of_usr_2']);
});
