/** Accounts of every role in an installation with the demo data. */
import { type RunningProgram, runJson } from '../../support/program.ts';
import { cookieOf } from './cookie-of.ts';

const staffRoles = ['admin', 'owner', 'support', 'security'] as const;
type StaffRole = (typeof staffRoles)[number];
export type Role = StaffRole | 'contact';

export type Account = { email: string; cookie: string };

/** The restaurant of the demo, as the first start names it. */
const restaurantIn = (output: string): string => /\((rst_\w+)\)/.exec(output)?.[1] ?? '';

/** `firstOutput`: what the first start with the demo data printed. */
export const makeAccount = async (
  program: RunningProgram,
  env: Record<string, string>,
  role: StaffRole,
  firstOutput = program.output(),
): Promise<Account> => {
  const email = `${role}@trattoria.example`;
  const owned = role === 'owner' ? ['--restaurant', restaurantIn(firstOutput)] : [];
  const made = await runJson(['user', 'create', '--email', email, '--role', role, ...owned], env);
  return { email, cookie: await cookieOf(program.url, made.link ?? '', email) };
};

/** A contact of all clients of the demo, invited by support. */
const makeContact = async (program: RunningProgram, support: Account): Promise<Account> => {
  const email = 'contact@courier.example';
  const show = async (path: string, form?: Record<string, string>): Promise<string> => {
    const answer = await fetch(`${program.url}${path}`, {
      headers: { cookie: support.cookie, ...(form && { origin: program.url }) },
      ...(form && { method: 'POST', body: new URLSearchParams(form) }),
    });
    return answer.text();
  };
  const list = await show('/panel/clients');
  let link: string | undefined;
  for (const client of new Set(list.match(/\/panel\/clients\/opc_\w+/g))) {
    const csrf = /name="csrf" value="([^"]+)"/.exec(await show(`${client}/contacts`))?.[1] ?? '';
    const shown = await show(`${client}/contacts`, { csrf, email });
    link = /id="link">([^<]+)</.exec(shown)?.[1] ?? link;
  }
  return { email, cookie: await cookieOf(program.url, link?.replaceAll('&amp;', '&') ?? '', email) };
};

export const makeAccounts = async (
  program: RunningProgram,
  env: Record<string, string>,
  firstOutput = program.output(),
): Promise<Map<Role, Account>> => {
  const accounts = new Map<Role, Account>();
  for (const role of staffRoles) accounts.set(role, await makeAccount(program, env, role, firstOutput));
  const support = accounts.get('support');
  if (support !== undefined) accounts.set('contact', await makeContact(program, support));
  return accounts;
};
