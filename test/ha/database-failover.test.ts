/** The story of test/platform/failover with other failures of the primary. */
import { test } from 'vitest';
import { runFailover } from '../platform/failover/failover-story.ts';

test('A-274 the same holds when the primary crashes', () => runFailover(({ primary }) => primary.crash()));

test('A-274 the same holds when the primary stands still with its connections open, as behind a broken network', () =>
  runFailover(({ primary }) => primary.freeze()));
