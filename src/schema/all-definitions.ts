import {renderMember} from '../star/member.ts';
import {members, questions} from '../star/star.ts';
import {allTables} from '../streams/all.ts';
import type {Definitions} from './definitions.ts';

/**
 * All that `migrate` brings a warehouse in line with: its tables, the star, and the answers that
 * stand on it.
 */
export const definitions: Definitions = {
  tables: allTables,
  star: [...members, ...questions].map(renderMember),
};
