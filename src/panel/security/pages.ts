/** Pages and actions of security, for the roles security and admin. */
import type { Page } from '../page/page.ts';
import type { Role } from '../ports/role.ts';
import { chartNews, showCharts } from './charts-page.ts';
import { showEvent } from './event-page.ts';
import { downloadAudit } from './export-page.ts';
import { revokeValue, showIncidentForm, showProof, traceValue } from './incident-page.ts';
import { showIntegrity, verifyNow } from './integrity-page.ts';
import { showLive, tokenNews } from './live-page.ts';
import { showPolicy } from './policy-page.ts';
import { removeSearch, saveSearch } from './saved-searches.ts';
import { searchNews, showSearch } from './search-page.ts';
import { showTimeline } from './timeline-page.ts';
import { credentialsTopic, integrityTopic, newsTopic, policyTopic } from './topics.ts';

const roles: readonly Role[] = ['security', 'admin'];

export const securityPages: readonly Page[] = [
  {
    method: 'GET',
    path: '/security/audit',
    roles,
    topics: [newsTopic],
    nav: (texts) => texts.security.auditTitle,
    handle: showSearch,
  },
  { method: 'GET', path: '/security/audit/news', roles, handle: searchNews },
  { method: 'POST', path: '/security/audit/saved', roles, handle: saveSearch },
  { method: 'POST', path: '/security/audit/saved/remove', roles, handle: removeSearch },
  {
    method: 'GET',
    path: '/security/timeline',
    roles,
    nav: (texts) => texts.auditEvents.timelineTitle,
    handle: showTimeline,
  },
  { method: 'GET', path: '/security/events/:event', roles, handle: showEvent },
  {
    method: 'GET',
    path: '/security/incident',
    roles,
    nav: (texts) => texts.security.incident.title,
    handle: showIncidentForm,
  },
  { method: 'POST', path: '/security/incident', roles, handle: traceValue },
  { method: 'POST', path: '/security/incident/revoke', roles, handle: revokeValue },
  { method: 'GET', path: '/security/incident/proof', roles, handle: showProof },
  {
    method: 'GET',
    path: '/security/live',
    roles,
    topics: [credentialsTopic, newsTopic],
    nav: (texts) => texts.security.live.title,
    handle: showLive,
  },
  { method: 'GET', path: '/security/live/news', roles, handle: tokenNews },
  {
    method: 'GET',
    path: '/security/charts',
    roles,
    topics: [newsTopic],
    nav: (texts) => texts.security.charts.title,
    handle: showCharts,
  },
  { method: 'GET', path: '/security/charts/news', roles, handle: chartNews },
  { method: 'GET', path: '/security/audit/export', roles, handle: downloadAudit },
  {
    method: 'GET',
    path: '/security/integrity',
    roles,
    topics: [integrityTopic],
    nav: (texts) => texts.security.integrity.title,
    handle: showIntegrity,
  },
  { method: 'POST', path: '/security/integrity/verify', roles, handle: verifyNow },
  {
    method: 'GET',
    path: '/security/policy',
    roles,
    topics: [policyTopic],
    nav: (texts) => texts.security.policy.title,
    handle: showPolicy,
  },
];
