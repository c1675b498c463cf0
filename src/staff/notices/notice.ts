/** What users may be notified of. Pure. */
import type { Role } from '../accounts/role.ts';

export const noticeKinds = [
  'endpoint_disabled',
  'key_ending',
  'credential_ending',
  'leak_reported',
  'refusals',
  'audit_broken',
] as const;
export type NoticeKind = (typeof noticeKinds)[number];
export const isNoticeKind = (value: string): value is NoticeKind => noticeKinds.some((kind) => kind === value);

/** Something that happened. */
export type Found = {
  /** The same for the same happening, and different for the next one of its kind. */
  key: string;
  /** The tenant that it concerns; undefined: the installation. */
  tenant: string | undefined;
  /** The client that it concerns, for the contacts of this client. */
  client?: string | undefined;
  /** Shown as lines of the notice. Must not contain secrets. */
  facts: Readonly<Record<string, string>>;
};

/** Finds what happened lately. A happening may be found again and again. */
export type NoticeSources = Readonly<Record<NoticeKind, (now: Date) => Promise<readonly Found[]>>>;

/** Roles that see every tenant and client, by what they work on. Owners of the tenant and contacts of the client get its notices too. */
const rolesOf: Readonly<Record<NoticeKind, readonly Role[]>> = {
  endpoint_disabled: ['support', 'admin'],
  key_ending: ['support', 'admin'],
  credential_ending: ['support', 'admin'],
  leak_reported: ['support', 'security', 'admin'],
  refusals: ['security', 'admin'],
  audit_broken: ['security', 'admin'],
};

/** Notices of a tenant go to owners as well. */
const isAboutTenant = (kind: NoticeKind): boolean =>
  kind === 'endpoint_disabled' || kind === 'key_ending' || kind === 'leak_reported';

/** Notices of a client go to its contacts as well. */
const isAboutClient = (kind: NoticeKind): boolean => kind === 'credential_ending' || kind === 'leak_reported';

export const mayGet = (role: Role, kind: NoticeKind): boolean =>
  rolesOf[kind].includes(role) ||
  (role === 'owner' && isAboutTenant(kind)) ||
  (role === 'contact' && isAboutClient(kind));

export const wideRoles = (kind: NoticeKind): readonly Role[] => rolesOf[kind];
