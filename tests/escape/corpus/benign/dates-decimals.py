# id: benign-dates-decimals
# category: benign
# profile: strict
# threat: none: dates and exact numbers
# expect: success
# require: 0.3
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal, getcontext
from fractions import Fraction
import statistics, math, calendar, time
print(Decimal('0.1') + Decimal('0.2'), Fraction(1, 3) + 1, date(2024, 2, 28) + timedelta(days=2), statistics.fmean([1, 2]), math.comb(5, 2), calendar.isleap(2024))
print(datetime.now(timezone.utc).year > 2000, time.time() > 0, datetime.fromisoformat('2024-01-01T10:00:00').strftime('%d.%m.%Y'))
