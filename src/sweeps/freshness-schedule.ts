import {wholeList} from '../streams/windows.ts';
import {nameFreshness, type ScheduleSetting} from './schedules.ts';

/** Whether freshness sets a schedule; it is no entry of the schedules then. */
export function isOfFreshness({
  name,
  stream,
  windowName,
}: Pick<ScheduleSetting, 'name' | 'stream' | 'windowName'>): boolean {
  return name === nameFreshness(stream) && windowName === wholeList;
}
