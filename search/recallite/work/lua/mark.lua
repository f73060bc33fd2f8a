-- KEYS: generation counter, dirty set.  ARGV: lane (0 live, 1 backfill), paths.
-- A score is lane * 2^52 + generation: an integer, so that it survives every round trip as text.
local lane_step = 4503599627370496
local generation = redis.call('INCR', KEYS[1])
for i = 2, #ARGV do
  local lane = tonumber(ARGV[1])
  local old = redis.call('ZSCORE', KEYS[2], ARGV[i])
  if old and tonumber(old) < lane_step then lane = 0 end
  redis.call('ZADD', KEYS[2], string.format('%.0f', lane * lane_step + generation), ARGV[i])
end
return generation
