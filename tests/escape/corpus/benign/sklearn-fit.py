# id: benign-sklearn-fit
# category: benign
# profile: strict
# threat: none: fits and predictions
# expect: success
# require: fitted
# limits: timeout=60 memory=768
import numpy as np
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
x = np.arange(40).reshape(20, 2)
y = np.arange(20)
print(LinearRegression().fit(x, y).predict([[40, 41]]))
a, b, c, d = train_test_split(x, y % 2, random_state=0)
print(make_pipeline(StandardScaler(), LogisticRegression()).fit(a, c).score(b, d) >= 0)
print(RandomForestClassifier(n_estimators=5).fit(a, c).predict(b).shape, 'fitted')
